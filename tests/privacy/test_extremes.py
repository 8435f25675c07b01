"""Numbers of extreme size: a treaty with them is refused, or its sensitivity holds."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from bench.extremes import search

from problems import one_owner, problem
from treaty.errors import TreatyError
from treaty.fitness import Moments, RowRisk, risk_of
from treaty.fitness.summation import BLOCK_ROWS, additions, in_blocks
from treaty.limits import OutsideLimits
from treaty.losses import Clipped, Huber, Squared
from treaty.owner import Owner, Query
from treaty.privacy import Budget, Gaussian, Grant, Laplace, MemoryLedger
from treaty.questions import QUESTIONS, MeanGradient
from treaty.terms import loads

TREATY = """
version = 1
[features.a]
kind = "number"
bounds = [{low}, {high}]
[target]
column = "y"
bounds = [-1, 1]
[dictionary]
intercept = 0.0
{dictionary}
[loss]
name = "squared"
theta_max = {theta}
{loss}
[training]
method = "shrinking-steps"
horizon = 5
[[parties]]
name = "owner"
records = 1000
epsilon = {epsilon}
"""
HONEST = {"low": -1, "high": 1, "theta": 2.0, "epsilon": 1.0, "dictionary": "", "loss": ""}


def _treaty(**changes) -> str:
    return TREATY.format(**(HONEST | changes))


def test_an_honest_treaty_is_read():
    assert loads(_treaty()).loss.theta_max == 2.0


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        # x of size 1.6e-162 with θ of 6e261: squares vanish, and with them the moments.
        ({"low": -1.6e-162, "high": 1.6e-162, "theta": 6e261}, "the distance between the bounds"),
        ({"low": -1.6e-162, "high": 1.6e-162}, "bounds: the distance between the bounds"),
        ({"dictionary": "radius = 1.6e-162"}, "radius must lie between 1e-12 and 1e[+]12"),
        ({"low": -1e49, "high": 1e49}, "a bound may not exceed 1e[+]12 in size"),
        ({"theta": 6e261}, "theta_max must lie between"),
        ({"theta": "nan"}, "theta_max must lie between"),
        ({"loss": "clip = 1e-40"}, "clip must lie between"),
        ({"loss": "clip = inf"}, "clip must lie between"),
        ({"loss": "ridge = 1e30"}, "ridge must lie between"),
        ({"loss": "parameters = {delta = 1e200}"}, "parameters.delta may not exceed"),
        ({"epsilon": 1e-300}, "epsilon must lie between 1e-06"),
    ],
)
def test_a_treaty_outside_the_limits_is_refused_when_it_is_read(changes, says):
    with pytest.raises(TreatyError, match=says):
        loads(_treaty(**changes))


def test_a_hundred_columns_near_the_top_of_the_range_are_refused():
    """Their sum lies outside the limits, though none of them does."""
    columns = "".join(
        f'[features.a{j}]\nkind = "number"\nbounds = [-4e11, 4e11]\n' for j in range(100)
    )
    fitted = {
        "columns": ["a", *(f"a{j}" for j in range(100))],
        "centre": [0.0] * 101,
        "scale": [1.0] * 101,
        "intercept": 0.0,
    }
    fitted["columns"].sort()
    text = _treaty() + columns + "[fitted]\n" + "".join(f"{k} = {v}\n" for k, v in fitted.items())
    with pytest.raises(TreatyError, match="the largest ‖x‖₁ must lie between"):
        loads(text)


def test_a_problem_made_without_a_treaty_keeps_the_limits_too():
    with pytest.raises(OutsideLimits, match="theta_max must lie between"):
        problem(Squared(), theta_max=1e261)


def test_a_search_over_extreme_sizes_finds_no_pair_beyond_the_declared_sensitivity():
    found = search(seed=20, cases=2500)
    assert found.worst <= 1.0 + 1e-9
    assert found.worst > 0.999999, "the search is to come close"
    assert found.refused > 0
    assert all(worst > 0.99 for worst in found.by_question.values()), "for every question"
    assert set(found.by_question) == set(QUESTIONS)
    assert {loss for loss, _, _ in found.reached} == {"squared", "huber", "logistic", "hinge"}


def test_the_search_would_find_a_sensitivity_that_is_too_small(monkeypatch):
    for question in QUESTIONS.values():
        stated = question.sensitivity.__func__
        monkeypatch.setattr(
            question, "sensitivity", classmethod(lambda cls, *of, f=stated: 0.9 * f(cls, *of))
        )
    found = search(seed=20, cases=2500)
    assert found.worst > 1.1
    assert all(worst > 1.1 for worst in found.by_question.values())


@pytest.mark.parametrize("mechanism", [Laplace(), Gaussian()])
def test_nothing_that_is_not_finite_reaches_the_noise(mechanism):
    """OpenDP would turn NaN into 0 and an infinite number into the largest double, in silence."""
    for strange in (math.nan, math.inf, -math.inf):
        with pytest.raises(TreatyError, match="not finite is never released"):
            mechanism.release(np.array([0.0, strange]), 1.0)
    for scale in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(TreatyError, match="is no noise"):
            mechanism.release(np.zeros(2), scale)
    with pytest.raises(TreatyError, match="the noise came out with a scale of"):
        mechanism.scale(1e308, Budget(1e-6, 1e-9 if mechanism.name == "gaussian" else 0.0), 10**6)


def test_gaussian_noise_keeps_delta_at_every_epsilon_it_accepts():
    """δ(σ) = Φ(1/2σ − εσ) − e^ε Φ(−1/2σ − εσ), by arithmetic of fifty digits."""
    mpmath.mp.dps = 50
    for epsilon in (1e-6, 2e-6, 4e-6, 1e-5, 1e-3, 0.1, 1.0, 30.0, 1e3):
        for delta in (1e-30, 1e-25, 1e-15, 1e-6, 0.1):
            sigma = mpmath.mpf(Gaussian().scale(1.0, Budget(epsilon, delta), 1))
            e, half = mpmath.mpf(epsilon), 1 / (2 * sigma)
            spent = mpmath.ncdf(half - e * sigma) - mpmath.exp(e) * mpmath.ncdf(-half - e * sigma)
            assert spent <= delta, (epsilon, delta)
    for epsilon in (1e-7, 1e4):
        with pytest.raises(TreatyError, match="gaussian noise is accounted for between"):
            Gaussian().scale(1.0, Budget(epsilon, 1e-6), 1)


class Lying(Squared):
    """A user's own loss whose slope exceeds what it declares, or is no number."""

    name = "lying"

    def slope(self, score, target):
        return np.where(target > 0.5, np.nan, 1e6 * super().slope(score, target))


def test_a_loss_that_lies_about_its_bound_moves_an_answer_no_further_than_it_declares():
    chosen = problem(Lying(), 2, 0.0, 1.0)
    answers = []
    for y in (1.0, 0.4, -1.0):
        x, targets = np.tile([0.3, 1.0], (5, 1)), np.array([y, 0.0, 0.1, 0.2, 0.3])
        owner = Owner(
            "owner",
            treaty="t",
            plan=one_owner(chosen, 5),
            risk=RowRisk(Lying(), x, targets),
            ledger=MemoryLedger(Grant("t", Budget(math.inf), 1)),
        )
        answers.append(np.array(owner.answer(Query("t", "r", 1, (0.5, -0.5)))))
    allowed = MeanGradient.sensitivity(chosen, 5, "l1")
    for one in answers:
        for other in answers:
            assert np.abs(one - other).sum() <= allowed


class Shouting(Squared):
    """A user's own loss that declares a slope of 1 and returns 1e250."""

    name = "shouting"

    def slope(self, score, target):
        return 1e250 * np.sign(score - target)

    def slope_bound(self, score_bound, target):
        return 1.0


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e-150, 1e-90, 1.0])
def test_a_record_whose_square_vanishes_is_held_to_the_bound_as_well(norm, size):
    x = size * np.array([[1.0, -0.5], [0.3, 1.0]])
    loss = Clipped(Shouting(), 0.02, norm).on(x)
    gradient = loss.slope(np.zeros((2, 1)), np.array([[1.0], [-1.0]])) * x
    order = {"l1": 1, "l2": 2}[norm]
    assert (np.linalg.norm(gradient, order, axis=1) <= 0.02 * (1 + 1e-12)).all()


def test_an_own_loss_that_is_clipped_is_answered():
    chosen = problem(Clipped(Shouting(), 0.5, "l2"), 2, 0.0, 1.0)
    x, y = np.tile([0.3, 1.0], (5, 1)), np.array([1.0, 0.0, 0.1, 0.2, 0.3])
    owner = Owner(
        "owner",
        treaty="t",
        plan=one_owner(chosen, 5),
        risk=RowRisk(chosen.loss, x, y),
        ledger=MemoryLedger(Grant("t", Budget(math.inf), 1)),
    )
    answer = np.array(owner.answer(Query("t", "r", 1, (0.5, -0.5))))
    assert np.linalg.norm(answer) <= 0.5


@pytest.mark.parametrize("delta", [1.8e-322, 1e-13])
def test_a_huber_loss_that_vanishes_is_refused(delta):
    with pytest.raises(OutsideLimits, match="huber's delta must lie between"):
        Huber(delta)


def test_noise_on_its_grid_keeps_epsilon_for_as_many_answers_as_there_may_be():
    """OpenDP counts the rounding to the grid: it must not exceed what scales are rounded up by."""
    from treaty.privacy.laplace import measurement

    budget, answers, dimension = Budget(1e-6), 10**9, 1000
    scale = Laplace().scale(1.0, budget, answers)
    spent = measurement(scale, dimension).map(d_in=1.0)
    assert Fraction(spent) <= Fraction(budget.epsilon) / answers


@pytest.mark.parametrize("portion", [1, 1024, 8192, 24_576, 10_000])
def test_rows_are_added_up_in_full_blocks_however_they_are_delivered(portion):
    """SQLite delivers 1,024 rows at a time; the sensitivity counts on blocks of 8,192."""
    n = 20_000
    x, y = np.arange(2.0 * n).reshape(n, 2), np.arange(float(n))
    parts = [(x[i : i + portion], y[i : i + portion]) for i in range(0, n, portion)]
    sizes = []
    rows = []
    for block, targets in in_blocks(parts):
        assert len(block) == len(targets)
        sizes.append(len(targets))
        rows.append(targets)
    assert sizes == [8192, 8192, 3616]
    np.testing.assert_array_equal(np.concatenate(rows), y)
    np.testing.assert_array_equal(Moments.of(parts).xx, Moments.of([(x, y)]).xx)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_no_sum_takes_more_additions_in_a_row_than_are_counted(monkeypatch, threads):
    """Count them: rows of the largest block, blocks of every share, and shares."""
    from treaty.fitness import threads as sharing

    monkeypatch.setattr(sharing, "_allowed", lambda: threads)
    monkeypatch.setattr(sharing, "SMALL", 0)
    n = 50_000
    risk = RowRisk(Squared(), np.ones((n, 1)), np.ones(n))
    shares = sharing.over_shares(n, 1, lambda share: [len(y) for _, _, y in risk._blocks(share, 1)])
    rows = max(max(blocks) for blocks in shares)
    taken = rows + sum(len(blocks) for blocks in shares) + len(shares)
    assert sum(sum(blocks) for blocks in shares) == n
    assert rows <= BLOCK_ROWS
    assert taken <= additions(n)
    assert risk_of(Squared(), np.ones((n, 1)), np.ones(n)).n == n
