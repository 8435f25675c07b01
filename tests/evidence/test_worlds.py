"""Worlds of owners that differ: what is measured in them, against brute force on made-up owners."""

import numpy as np
import pytest

from problems import domain
from treaty.errors import TreatyError
from treaty.evidence.folds import Rows
from treaty.evidence.known_owners import _chance
from treaty.evidence.worlds import worlds
from treaty.fitness import Problem, model_alone, risk_of, yardstick
from treaty.forecasting.ratio import between
from treaty.losses import Clipped, Hinge, Logistic, Loss, Squared
from treaty.plans import Party
from treaty.privacy import Budget

KINDS = 8
"""Categories of the made-up records."""
P = KINDS + 2
CONSORTIA = 15


def _records(random, n, loss: Loss, theta, kinds):
    """One column a category, one number that hangs on the category, and a constant."""
    kind = random.choice(kinds, n)
    number = 0.3 * kind / KINDS + 0.2 * random.standard_normal(n)
    x = np.column_stack([np.eye(KINDS)[kind], number, np.ones(n)])
    score = x @ theta
    if loss.labels:
        return x, np.where(score + random.logistic(size=n) > 0, 1.0, -1.0)
    return x, score + (0.2 + 0.2 * (kind == 0)) * random.standard_normal(n)


def _consortium(loss: Loss, seed: int, *, apart: bool, differ: float, public: int = 400):
    """Owners' records, public rows of the same owners, and whose these are."""
    random = np.random.default_rng(seed)
    sizes = [60, 150, 400, 1_000, 3_000, 3_000]
    theta = random.uniform(-0.5, 0.5, P)
    owners, rows, names = {}, [], []
    for i, n in enumerate(sizes):
        kinds = np.arange(KINDS)
        if apart and i % 2:
            kinds = random.choice(KINDS, 3, replace=False)
        mine = theta + differ * random.standard_normal(P)
        owners[f"o{i}"] = _records(random, n, loss, mine, kinds)
        few = public * n // sum(sizes)
        rows.append(_records(random, few, loss, mine, kinds))
        names += few * [f"o{i}"]
    x, y = (np.concatenate(column) for column in zip(*rows, strict=True))
    return owners, Rows(x, y), np.array(names)


def _problem(loss: Loss) -> Problem:
    return Problem(loss, domain(P), 1e-4, 10.0, P - 1)


def _parties(owners):
    return tuple(Party(name, len(rows[1]), Budget(1.0)) for name, rows in owners.items())


def _alone(problem, owners):
    risks = {name: risk_of(problem.loss, *rows) for name, rows in owners.items()}
    stick = yardstick(problem, risks)
    return {n: float(stick.relative(model_alone(problem, r))) for n, r in risks.items()}, stick


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=lambda loss: loss.name)
@pytest.mark.parametrize(("apart", "differ"), [(False, 0.0), (False, 0.2), (True, 0.1)])
def test_intervals_of_own_models_hold_what_is_measured(loss, apart, differ):
    problem, inside = _problem(loss), []
    for seed in range(CONSORTIA):
        owners, rows, names = _consortium(loss, seed, apart=apart, differ=differ)
        made = worlds(problem, _parties(owners), rows, names, {}, 10)
        measured, _ = _alone(problem, owners)
        for i, psi in enumerate(measured.values()):
            readings = {True: [], False: []}
            for world in made:
                readings[world.apart[i]].append(float(world.own_costs[i]) / world.fitness)
            told = between(readings[False], readings[True])
            inside.append(told.low <= psi <= told.high)
    chance = (0.9 * 0.1 / len(inside)) ** 0.5
    assert np.mean(inside) >= 0.9 - 2 * chance


def test_the_public_model_costs_in_worlds_what_it_does_in_truth():
    problem = _problem(Squared())
    told, true = [], []
    for seed in range(12):
        owners, rows, names = _consortium(Squared(), seed, apart=False, differ=0.05, public=200)
        made = worlds(problem, _parties(owners), rows, names, {}, 6)
        theta = rows.best(problem).theta
        _, stick = _alone(problem, owners)
        true.append(float(stick.relative(theta)))
        told.append(np.mean([float(w.stick.fitness(theta)) - w.stick.best.value for w in made]))
        told[-1] /= np.mean([world.fitness for world in made])
    assert np.mean(told) == pytest.approx(np.mean(true), rel=0.25)


def test_owners_that_are_alike_cost_what_chance_in_their_records_does():
    """With rows enough, ψ of an own model is p/n_i: residuals do not hang on anything else."""
    random = np.random.default_rng(0)
    x = np.column_stack([random.standard_normal((4_000, 4)), np.ones(4_000)])
    y = x @ np.array([0.3, -0.2, 0.1, 0.0, 0.5]) + 0.4 * random.standard_normal(4_000)
    names = np.array(["a", "b"] * 2_000)
    problem = Problem(Squared(), domain(5), 1e-9, 10.0, 4)
    parties = (Party("a", 300, Budget(1.0)), Party("b", 60_000, Budget(1.0)))
    made = worlds(problem, parties, Rows(x, y), names, {}, 40)
    own = np.mean([world.own_costs / world.fitness for world in made], axis=0)
    assert own[0] == pytest.approx(5 * (1 / 300 - 1 / 60_300), rel=0.35)
    assert own[1] < 5 / 300
    assert np.mean([world.fitness for world in made]) == pytest.approx(0.16, rel=0.05)


def test_what_an_owner_leaves_out_is_wild_in_one_reading_and_not_in_the_other():
    owners, rows, names = _consortium(Squared(), 3, apart=True, differ=0.0, public=2_000)
    made = worlds(_problem(Squared()), _parties(owners), rows, names, {}, 10)
    index = 5  # it has three of eight kinds, and many records
    costs = {True: [], False: []}
    for world in made:
        costs[world.apart[index]].append(float(world.own_costs[index]))
    assert min(costs[True]) > 5 * max(costs[False])


def test_records_at_hand_are_taken_as_they_are():
    owners, rows, names = _consortium(Squared(), 1, apart=True, differ=0.2)
    problem = _problem(Squared())
    exact = {"o2": Rows(*owners["o2"])}
    made = worlds(problem, _parties(owners), rows, names, exact, 4)
    for world in made:
        theta = np.linspace(-1, 1, P)
        mine = world.records(problem.loss)["o2"]
        np.testing.assert_allclose(
            mine.gradient(theta), risk_of(problem.loss, *owners["o2"]).gradient(theta)
        )
        own = exact["o2"].best(problem).theta
        cost = float(world.stick.fitness(own)) - float(world.stick.best.value)
        assert world.own_costs[2] == pytest.approx(cost, abs=1e-9)
        assert world.own["o2"] == pytest.approx(world.fitness + cost, abs=1e-9)


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=lambda loss: loss.name)
def test_drawn_records_under_a_wide_clip_are_the_same_records(loss):
    owners, rows, names = _consortium(loss, 2, apart=True, differ=0.1)
    world = worlds(_problem(loss), _parties(owners), rows, names, {}, 1)[0]
    theta = np.linspace(-0.5, 0.5, P)
    plain, wide = (world.records(each) for each in (loss, Clipped(loss, 1e6, "l1")))
    tight = world.records(Clipped(loss, 0.2, "l1"))
    for name in owners:
        np.testing.assert_allclose(wide[name].gradient(theta), plain[name].gradient(theta), 1e-6)
    assert any(np.abs(tight[n].gradient(theta)).sum() < 0.5 for n in owners)


def test_leverage_is_put_back_into_residuals():
    """Rare columns explain their own rows: what is left of σ² there is hσ² too little."""
    squares, rare = [], []
    for seed in range(200):
        random = np.random.default_rng(seed)
        kind = np.concatenate([np.zeros(40, int), np.arange(1, 9)])
        x = np.eye(9)[kind]
        y = 0.5 * random.standard_normal(48)
        problem = Problem(Squared(), domain(9), 1e-9, 10.0, 8)
        rows = Rows(x, y)
        _, _, off = _chance(problem, rows, rows.best(problem).theta)
        squares.append(np.mean(off**2))
        rare.append(np.mean(off[40:] ** 2))
    assert np.mean(squares) == pytest.approx(0.25, rel=0.05)
    assert np.mean(rare) == pytest.approx(0.25, rel=0.1)


def test_between_two_readings_by_hand():
    same = between([2.0, 2.0], [2.0, 2.0])
    assert (same.low, same.value, same.high) == pytest.approx((2.0, 2.0, 2.0))
    apart = between([1.0, 1.0], [8.0, 8.0])
    assert (apart.low, apart.value, apart.high) == pytest.approx((1.0, 8**0.5, 16.0))
    assert between([8.0, 8.0], [1.0, 1.0]).high == pytest.approx(8.0)
    assert between([0.5, 2.0], [1.0, 1.0]).low < 0.5


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("names", ["one", "strangers", "few"])
def test_whatever_the_rows_say_of_owners_worlds_are_finite_or_refused(loss, names):
    """One owner with all public rows, none that is known, fewer rows than coefficients."""
    random = np.random.default_rng(4)
    rows = Rows(*_records(random, 25, loss, np.linspace(-1, 1, P), np.arange(KINDS)))
    owner = {
        "one": np.array(["a"] * 25),
        "strangers": np.array([f"s{i}" for i in range(25)]),
        "few": np.array(["a"] * 20 + ["b"] * 5),
    }[names]
    parties = (Party("a", 30, Budget(1.0)), Party("b", 50_000, Budget(1.0)))
    made, refusal = [], ""
    try:
        made = worlds(_problem(loss), parties, rows, owner, {}, 4)
    except TreatyError as error:
        refusal = str(error)
    if refusal:
        assert loss.labels
        assert "25 rows are too few to tell how owners differ in 10 columns" in refusal
    for world in made:
        assert np.isfinite(world.own_costs).all()
        assert (world.own_costs >= -1e-9).all()
        assert 0 < world.fitness < np.inf
        assert np.isfinite(world.pulls).all()
