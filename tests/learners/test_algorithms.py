"""Each learner against a plain transcription of the papers' update rules, and by hand."""

import math

import numpy as np
import pytest

from problems import LOSSES, plan, problem, risks
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.learners import METHODS, method_named, survey
from treaty.losses import Clipped, Domain, Hinge, Logistic, Squared
from treaty.plans import Party, Plan
from treaty.privacy import Budget


def _answers(rounds: int, p: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rounds, p))


def test_shrinking_steps_as_published():
    T, rho, ridge, box = 12, 40.0, 0.01, 3.0
    learner = plan(Squared(), "shrinking-steps", horizon=T, parameters={"rho": rho}).learner()
    assert learner.rounds == T - 1
    theta = np.zeros(4)
    for k, answer in enumerate(_answers(T - 1), start=1):
        assert (learner.round, learner.finished) == (k, False)
        np.testing.assert_allclose(learner.ask(0).theta, theta, atol=1e-14)
        learner.tell(0, answer)
        theta = theta - rho / (T**2 * k) * (ridge * theta + answer)
        theta = np.clip(theta, -box, box)
    np.testing.assert_allclose(learner.model, theta, atol=1e-14)
    assert learner.finished


def test_shrinking_steps_without_a_box_never_project():
    """θ_max = ∞, as W Theorem 2 has it; the gradient bound then has to come from clipping."""
    loss = Clipped(Squared(), 1.0, "l1")
    free = Plan(
        problem(loss, theta_max=math.inf),
        (Party("a", 10, Budget(1.0)),),
        "shrinking-steps",
        3,
        {"rho": 1e6},
    )
    learner = free.learner()
    learner.tell(0, np.full(4, -5.0))
    assert learner.model[0] > 1e5


def test_averaged_subgradient_as_published():
    T, c1, ridge, box = 9, 0.7, 0.01, 3.0
    learner = plan(Hinge(), "averaged-subgradient", horizon=T, parameters={"c1": c1}).learner()
    theta, mean, root = np.zeros(4), np.zeros(4), 1 / math.sqrt(T)
    for k, answer in enumerate(_answers(T - 1), start=1):
        np.testing.assert_allclose(learner.ask(0).theta, theta, atol=1e-14)
        learner.tell(0, answer)
        mean = (k - 1) / (root + k) * mean + (root + 1) / (root + k) * theta
        theta = np.clip(theta - c1 / math.sqrt(k) * (ridge * theta + answer), -box, box)
    np.testing.assert_allclose(learner.model, mean, atol=1e-14)
    assert learner.finished


def test_averaged_subgradient_by_hand():
    """T = 4, c₁ = 1, ridge 0, one parameter, answers −1, −1, 0.

    root = ½. k=1: θ̄ = (½+1)/(½+1)·0 = 0, θ = 1. k=2: θ̄ = (1.5·1)/2.5 = 0.6, θ = 1 + 1/√2.
    k=3: θ̄ = (2·0.6 + 1.5·(1 + 1/√2))/3.5.
    """
    one = Problem(Squared(), Domain(1, 1.0, 1.0, (-1, 1)), 0.0, 9.0)
    setting = Plan(one, (Party("a", 5, Budget(1.0)),), "averaged-subgradient", 4, {"c1": 1.0})
    learner = setting.learner()
    for answer in (-1.0, -1.0, 0.0):
        learner.tell(0, np.array([answer]))
    assert learner.model[0] == pytest.approx((1.2 + 1.5 * (1 + 1 / math.sqrt(2))) / 3.5)


def test_one_at_a_time_as_published():
    T, rho, ridge, box = 15, 3.0, 0.01, 3.0
    shared = plan(Squared(), "one-at-a-time", horizon=T, parameters={"rho": rho})
    learner = shared.learner()
    assert learner.rounds == T
    N, sigma = 3, ridge
    central, copies = np.zeros(4), np.zeros((N, 4))
    visits = np.random.default_rng(3).integers(N, size=T)
    for i, answer in zip(visits, _answers(T), strict=True):
        middle = 0.5 * (central + copies[i])
        np.testing.assert_allclose(learner.ask(int(i)).theta, middle, atol=1e-14)
        learner.tell(int(i), answer)
        step = N * rho / (T**2 * sigma)
        copies[i] = np.clip(middle - step * (ridge * middle / (2 * N) + answer / N), -box, box)
        central = np.clip(middle - (N - 1) * rho / (N * T**2 * sigma) * ridge * middle, -box, box)
        np.testing.assert_allclose(learner.model, central, atol=1e-14)
    assert learner.finished


def test_sigma_is_a_parameter_of_its_own():
    """Steps depend on ρ/σ only."""

    def model(parameters):
        learner = plan(Squared(), "one-at-a-time", parameters=parameters).learner()
        learner.ask(0)
        learner.tell(0, np.ones(4))
        return learner.ask(0).theta

    np.testing.assert_allclose(
        model({"rho": 1.0, "sigma": 0.5}), model({"rho": 0.02, "sigma": 0.01})
    )


@pytest.mark.parametrize("name", METHODS)
def test_a_run_axis_changes_nothing(name):
    """Many runs at once are the same runs one by one, different blocs in each."""
    shared = plan(Squared(), name, horizon=12)
    many, runs = shared.learner(5), 5
    single = [shared.learner() for _ in range(runs)]
    random = np.random.default_rng(1)
    length = shared.releases[0].length
    while not many.finished:
        blocs = random.integers(3, size=runs) if not many.synchronous else np.zeros(runs, int)
        answers = random.standard_normal((runs, length))
        theta = np.broadcast_to(many.ask(blocs).theta, (runs, many.asks.arguments(many.problem)))
        for r in range(runs):
            np.testing.assert_allclose(single[r].ask(int(blocs[r])).theta, theta[r], atol=1e-14)
            single[r].tell(int(blocs[r]), answers[r])
        many.tell(blocs, answers)
    for r in range(runs):
        np.testing.assert_allclose(single[r].model, many.model[r], atol=1e-14)


@pytest.mark.parametrize("name", METHODS)
def test_queries_never_leave_the_box(name):
    """An owner refuses θ outside Θ, so no learner may ask there, whatever the answers."""
    shared = plan(Squared(), name, horizon=30)
    learner, length = shared.learner(), shared.releases[0].length
    random = np.random.default_rng(0)
    while not learner.finished:
        bloc = 0 if learner.synchronous else int(random.integers(3))
        assert np.all(np.abs(learner.ask(bloc).theta) <= 3.0)
        learner.tell(bloc, 1e6 * random.standard_normal(length))
    assert np.all(np.abs(learner.model) <= 3.0)


@pytest.mark.parametrize(
    "name", sorted(METHODS.keys() - {"blended-step"})
)  # begins near it already
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber", "hinge"])
def test_default_steps_find_the_optimum_without_noise(name, loss):
    chosen = LOSSES[loss]
    if (name, loss) == ("shrinking-steps", "hinge") or (name == "one-shot" and loss != "squared"):
        with pytest.raises(TreatyError, match="loss"):
            method_named(name).check(problem(chosen), 1)
        return
    from treaty.simulation import simulate

    free = plan(chosen, name, horizon=600, epsilon=math.inf, ridge=0.1)
    data = risks(chosen)
    result = simulate(
        free.informed_by(survey(free.problem, data["owner 0"])),
        data,
        runs=2,
        record=[0, free.learner().rounds],
    )
    assert result.psi[0, 0] > 0.05
    assert result.mean < 0.15 * result.psi[0, 0]


@pytest.mark.parametrize(
    ("method", "chosen", "says"),
    [
        ("shrinking-steps", problem(Hinge()), "needs a smooth loss and the hinge loss has kinks"),
        ("one-at-a-time", problem(Logistic(), ridge=0.0), "needs a strongly convex regulariser"),
    ],
)
def test_each_learner_says_what_it_needs(method, chosen, says):
    with pytest.raises(TreatyError, match=says):
        Plan(chosen, (Party("a", 5, Budget(1.0)),), method, 5).learner()


def test_unknown_methods_and_parameters():
    with pytest.raises(TreatyError, match='no method is called "sgd"'):
        plan(Squared(), "sgd").learner()
    with pytest.raises(TreatyError, match="has no parameter eta; it takes rho"):
        plan(Squared(), "shrinking-steps", parameters={"eta": 1.0}).learner()
    with pytest.raises(TreatyError, match="rho must be positive"):
        plan(Squared(), "shrinking-steps", parameters={"rho": 0.0}).learner()


def test_frequency_scaling_declared():
    """F Remark 4: a bloc that talks twice as often as it should weighs half."""
    parties = tuple(
        Party(f"o{i}", 100, Budget(1.0), rate=rate) for i, rate in enumerate((2.0, 1.0, 1.0))
    )
    base = Plan(problem(Squared()), parties, "one-at-a-time", 10, {"rho": 1.0})
    from dataclasses import replace

    scaled = replace(base, frequency_scaling="declared").learner()
    plain = base.learner()
    for i, factor in enumerate(((1 / 3) / 0.5, (1 / 3) / 0.25, (1 / 3) / 0.25)):
        for learner in (scaled, plain):
            learner.ask(i)
            learner.tell(i, np.ones(4))
        moved = [2 * learner.ask(i).theta - learner.model for learner in (scaled, plain)]
        first = i == 0
        if first:
            np.testing.assert_allclose(moved[0], factor * moved[1], rtol=1e-9)
    steps = scaled._gradient_step / plain._gradient_step
    np.testing.assert_allclose(steps, [2 / 3, 4 / 3, 4 / 3])


def test_frequency_scaling_observed_makes_up_for_a_busy_owner():
    """Two owners pull in opposite directions; one talks nine times as often."""
    from dataclasses import replace

    parties = (Party("busy", 100, Budget(1.0)), Party("rare", 100, Budget(1.0)))
    base = Plan(problem(Squared(), p=4), parties, "one-at-a-time", 4000, {"rho": 3000.0})
    ends = {}
    for mode in ("off", "observed"):
        learner = replace(base, frequency_scaling=mode).learner()
        random = np.random.default_rng(0)
        total = 0.0
        while not learner.finished:
            i = int(random.random() > 0.9)
            theta = learner.ask(i).theta
            learner.tell(i, 2 * (theta - (1.0 if i == 0 else -1.0)))
            if learner.round > 2000:
                total += learner.model.mean() / 2000
        ends[mode] = total
    assert ends["off"] > 0.4
    assert abs(ends["observed"]) < 0.15


def test_start_is_projected_and_used():
    learner = plan(Squared(), "shrinking-steps", start=np.full(4, 7.0)).learner()
    np.testing.assert_array_equal(learner.model, np.full(4, 3.0))
