"""What the settings of the papers' experiments state: Ξ, the noise, clipping, θ*."""

import math

import numpy as np
import pytest

from treaty import risk_of, simulate
from treaty.fitness import optimum
from treaty.losses import Squared
from treaty.papers.trial import Step, Trial
from treaty.papers.tuning import PACES, step_of
from treaty.studies import fraud, hospital, lending

SQUARED = ("W lending", "F lending", "F hospital")
ALL = (*SQUARED, "W fraud", "F fraud")


@pytest.mark.parametrize("name", ALL)
def test_published_noise_is_made_for_the_largest_gradient_among_private_rows(workshop, name):
    setting = workshop.setting(name)
    x, y = setting.lab.rows
    theta = optimum(setting.problem, risk_of(setting.loss, *setting.lab.public)).theta
    largest = 0.0
    for i in range(0, len(y), 37):
        slope = setting.loss.slope(np.array([x[i] @ theta]), y[i : i + 1])[0]
        largest = max(largest, float(np.abs(slope * x[i]).sum()))
    read = setting.bound("read off")
    assert largest <= read * (1 + 1e-9)
    assert read <= setting.bound("supremum") == setting.problem.gradient_bound("l1")
    if name in SQUARED:
        assert read < 0.3 * setting.bound("supremum")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("noise", ["read off", "supremum", "corrected"])
def test_the_scale_of_the_noise_by_hand(workshop, name, noise):
    """b_i = 2Ξ·answers/(n_i ε_i)."""
    setting = workshop.setting(name)
    sizes = None if name == "F hospital" else (1_000, 2_000, 3_000)
    trial = Trial(name, sizes, (0.5,), noise, 1.0)
    plan = setting.plan(trial)
    T, N = setting.horizon, len(plan.parties)
    synchronous = name.startswith("W")
    answers = T if noise != "corrected" else T - 1 if synchronous else math.ceil(T / N)
    for party, scale in zip(plan.parties, plan.scales, strict=True):
        expected = 2 * setting.bound(noise) * answers / (party.records * 0.5)
        assert scale == pytest.approx(expected, rel=1e-6)
        assert scale >= expected * (1 - 1e-9)


@pytest.mark.parametrize("name", SQUARED)
def test_the_clip_is_a_quantile_of_public_gradients(workshop, name):
    setting = workshop.setting(name)
    x, y = setting.lab.public
    theta = setting.public_model
    norms = np.abs(2 * (x @ theta - y)) * np.abs(x).sum(axis=1)
    assert float((norms <= setting.clip).mean()) == pytest.approx(0.99, abs=0.001)
    assert setting.bound("corrected") == setting.clip < setting.bound("read off")


@pytest.mark.parametrize("name", [name for name in ALL if name != "F fraud"])
def test_theta_is_not_in_the_way(workshop, name):
    setting = workshop.setting(name)
    assert setting.problem.theta_max >= 2 * np.abs(setting.public_model).max()


def test_a_hinge_needs_no_clip(workshop):
    setting = workshop.setting("W fraud")
    assert math.isinf(setting.clip)
    assert setting.bound("corrected") == setting.bound("supremum")
    trial = Trial("W fraud", (1_000,) * 3, (1.0,), "corrected", 1.0)
    assert setting.trained_on(trial) is setting.risks(trial.sizes)


@pytest.mark.parametrize("name", ["W lending", "F lending"])
@pytest.mark.parametrize("epsilon", [0.3, 30.0])
def test_clipping_estimated_on_few_rows_is_near_clipping_all(workshop, name, epsilon):
    setting = workshop.setting(name)
    sizes = (10_000,) * 3
    step = step_of(setting, 0.5 if name == "W lending" else 0.06, sizes)
    trial = Trial(name, sizes, (epsilon,), "corrected", step)
    plan, stick = setting.plan(trial), setting.stick(sizes)
    x, y = setting.lab.rows
    every = {
        owner: risk_of(plan.problem.loss, x[rows], y[rows])
        for owner, rows in setting.holdings(sizes).rows.items()
    }
    exact = simulate(plan, every, runs=20, seed=3, measured_with=stick).mean
    quick = simulate(plan, setting.trained_on(trial), runs=20, seed=3, measured_with=stick).mean
    assert quick == pytest.approx(exact, rel=0.15, abs=2e-5)


def test_psi_is_of_the_unclipped_problem(workshop):
    setting = workshop.setting("W lending")
    sizes = (2_000,) * 3
    x, y = setting.lab.rows
    best = np.linalg.lstsq(x[:6_000], y[:6_000], rcond=None)[0]
    least = float(np.mean((x[:6_000] @ best - y[:6_000]) ** 2))
    assert setting.stick(sizes).best.value == pytest.approx(least, rel=1e-9)
    off = float(np.mean(y[:6_000] ** 2)) / least - 1
    assert float(setting.stick(sizes).relative(np.zeros(len(best)))) == pytest.approx(off)


def test_hospitals_count_by_their_records(workshop):
    setting = workshop.setting("F hospital")
    holdings = setting.holdings(None)
    x, y = setting.lab.rows
    total = sum(holdings.records.values())
    theta = np.full(x.shape[1], 0.05)
    expected = sum(
        n / total * np.mean((x[holdings.rows[name]] @ theta - y[holdings.rows[name]]) ** 2)
        for name, n in holdings.records.items()
    )
    assert float(setting.stick(None).union.value(theta)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["W lending", "W fraud"])
def test_the_step_chosen_is_the_best_of_its_neighbours_on_public_rows(workshop, name):
    setting = workshop.setting(name)
    sizes = (10_000,) * 3
    wanted = Step(name, "read off", sizes)
    chosen = workshop.step(wanted)
    paces = [step_of(setting, pace, sizes) for pace in PACES]
    assert chosen in paces
    public = risk_of(setting.loss, *setting.lab.public)
    best = optimum(setting.problem, public).value

    def score(step):
        logs = []
        for epsilon in wanted.budgets:
            trial = Trial(name, sizes, (epsilon,), "read off", step)
            plan = setting.plan(trial)
            risks = {party.name: public for party in plan.parties}
            models = simulate(plan, risks, runs=20, seed=1).models
            f = setting.problem.penalty(models) + public.value(models)
            logs.append(np.log(np.mean(f / best - 1)))
        return np.mean(logs)

    at = paces.index(chosen)
    scores = [score(step) for step in paces[max(0, at - 1) : at + 2]]
    assert min(scores) == pytest.approx(score(chosen), rel=1e-3)


def test_other_rows_have_other_results(workshop, small_rows, tmp_path):
    wanted = Step("W lending", "read off", (1_000,) * 3)
    assert isinstance(workshop.setting("W lending").loss, Squared)
    first = workshop._depends_on(wanted)
    assert first["rows"] == workshop.setting("W lending").lab.fingerprint
    assert {"runs", "seed", "kind"} <= set(first)


@pytest.mark.parametrize(
    ("name", "loss", "ridge", "method", "horizon"),
    [
        ("W lending", "squared", 0.0, "averaged-subgradient", 100),
        ("W fraud", "hinge", 1.0, "averaged-subgradient", 100),
        ("F lending", "squared", 2e-5, "one-at-a-time", 1_000),
        ("F hospital", "squared", 2e-5, "one-at-a-time", 1_000),
        ("F fraud", "hinge", 1e-5, "one-at-a-time", 100),
    ],
)
def test_settings_are_the_papers(workshop, name, loss, ridge, method, horizon):
    """g is 0, ½θᵀθ, 1e-5 θᵀθ and (1e-5/2) θᵀθ; ridge is λ of (λ/2)θᵀθ."""
    setting = workshop.setting(name)
    assert (setting.loss.name, setting.problem.ridge) == (loss, ridge)
    assert (setting.method, setting.horizon) == (method, horizon)


def test_the_papers_public_rows():
    assert (lending.PUBLIC_ROWS, fraud.PUBLIC_ROWS, hospital.PUBLIC_ROWS) == (
        10_000,
        10_000,
        50_000,
    )
    assert (lending.FULL_ROWS, fraud.FULL_ROWS, hospital.FULL_ROWS) == (890_000, 284_807, 2_350_000)
