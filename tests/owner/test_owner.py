import math

import numpy as np
import pytest
from scipy import stats

from problems import problem, rows
from treaty.errors import Refusal, TreatyError
from treaty.fitness import risk_of
from treaty.losses import Clipped, Squared
from treaty.owner import Owner, Query
from treaty.plans import Party, Plan
from treaty.privacy import (
    Budget,
    Gaussian,
    Grant,
    Laplace,
    MemoryLedger,
    epsilon_spent,
)
from treaty.questions import MeanGradient


def _owner(answers: int = 3, budget: Budget | None = None, **more) -> tuple[Owner, MemoryLedger]:
    treaty = str(more.get("treaty", "fingerprint"))
    ledger = MemoryLedger(Grant(treaty, budget or Budget(1.0), answers))
    mechanism = more.pop("mechanism", Laplace())
    party = Party("bank", 100, budget or Budget(1.0))
    plan = Plan(
        more.pop("problem", problem(Squared())),
        (party,),
        "shrinking-steps",
        more.pop("horizon", 10),
        mechanism=mechanism,
    )
    settings = {
        "treaty": "fingerprint",
        "plan": plan,
        "risk": risk_of(Squared(), *rows(100, 4, seed=1)),
        "ledger": ledger,
    }
    return Owner("bank", **(settings | more)), ledger


def _query(k: int = 1, theta=(0.0, 0.0, 0.0, 0.0), treaty="fingerprint", run="run") -> Query:
    return Query(treaty, run, k, tuple(theta))


def test_a_repeated_query_gets_the_stored_answer_and_spends_once():
    owner, ledger = _owner()
    first, again = owner.answer(_query()), owner.answer(_query())
    assert first == again
    assert ledger.answers_given("fingerprint") == 1
    assert float(epsilon_spent(ledger, "fingerprint")) == pytest.approx(1 / 3)


def test_the_same_theta_in_another_round_or_run_gets_fresh_noise():
    owner, _ = _owner()
    answers = [owner.answer(q) for q in (_query(1), _query(2), _query(1, run="b"))]
    assert len(set(answers)) == 3


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (_query(treaty="another treaty"), "has not ratified treaty another trea"),
        (_query(0), r"outside the horizon 1\.\.10"),
        (_query(11), r"outside the horizon 1\.\.10"),
        (_query(theta=(0.0, 0.0, 0.0)), "3 coordinates, the treaty says 4"),
        (_query(theta=(0.0,) * 5), "5 coordinates"),
        (_query(theta=(0.0, math.nan, 0.0, 0.0)), "not a finite number"),
        (_query(theta=(0.0, math.inf, 0.0, 0.0)), "not a finite number"),
        (
            _query(theta=(0.0, 3.0001, 0.0, 0.0)),
            "outside Θ: a coordinate of size 3.0001, at most 3",
        ),
    ],
)
def test_refusals_cost_nothing(query, says):
    owner, ledger = _owner()
    with pytest.raises(Refusal, match=says):
        owner.answer(query)
    assert ledger.answers_given("fingerprint") == 0


def test_the_same_round_with_another_theta_is_refused():
    owner, ledger = _owner()
    owner.answer(_query())
    with pytest.raises(Refusal, match="asked with another theta"):
        owner.answer(_query(theta=(0.1, 0.0, 0.0, 0.0)))
    assert ledger.answers_given("fingerprint") == 1


def test_a_spent_budget_still_repeats_but_answers_nothing_new():
    owner, ledger = _owner(answers=2)
    kept = owner.answer(_query(1))
    owner.answer(_query(2))
    with pytest.raises(Refusal, match="bank's budget is spent: 2 of 2 answers given, epsilon 1"):
        owner.answer(_query(3))
    assert owner.answer(_query(1)) == kept
    assert ledger.answers_given("fingerprint") == 2


def test_noise_has_the_scale_of_the_papers_and_centres_on_the_gradient():
    """b = 2ΞT/(nε); the answers minus the exact gradient are Laplace of that scale."""
    owner, _ = _owner(answers=800, horizon=800)
    bound = problem(Squared()).gradient_bound("l1")
    assert owner.scale == pytest.approx(2 * bound * 800 / 100, rel=1e-6)
    theta = (0.1, -0.2, 0.3, 0.0)
    exact = risk_of(Squared(), *rows(100, 4, seed=1)).gradient(np.array(theta))
    noise = np.array([owner.answer(_query(k, theta)) for k in range(1, 801)]) - exact
    assert stats.kstest(noise.ravel() / owner.scale, stats.laplace.cdf).pvalue > 1e-4


def test_an_unlimited_budget_gives_the_exact_gradient():
    owner, _ = _owner(budget=Budget(math.inf))
    exact = risk_of(Squared(), *rows(100, 4, seed=1)).gradient(np.zeros(4))
    np.testing.assert_array_equal(owner.answer(_query()), exact)


def test_gaussian_answers():
    owner, _ = _owner(budget=Budget(1.0, 1e-6), mechanism=Gaussian())
    moved = MeanGradient.sensitivity(problem(Squared()), 100, "l2")
    assert owner.scale > moved * Gaussian().multiplier(Budget(1.0, 1e-6), 1)
    assert len(owner.answer(_query())) == 4


def test_records_of_another_shape_are_refused():
    with pytest.raises(TreatyError, match="5 columns, the problem 4"):
        _owner(risk=risk_of(Squared(), *rows(100, 5, seed=1)))


def test_scores_that_could_overflow_are_refused_whoever_the_records_are_of():
    """inf − inf is NaN for one record and not for another: that would erase a whole answer."""
    clipped = problem(Clipped(Squared(), 1.0, "l1"), theta_max=math.inf)
    owner, ledger = _owner(problem=clipped, risk=risk_of(clipped.loss, *rows(100, 4, seed=1)))
    huge = (-1.7e308, -1.7e308, 1.7e308, 1.7e308)
    with pytest.raises(Refusal, match="is allowed"):
        owner.answer(_query(theta=huge))
    assert np.all(np.isfinite(owner.answer(_query(theta=(1e11, -1e11, 1e11, 0.0)))))
    assert ledger.answers_given("fingerprint") == 1


def test_theta_of_anything_but_floats_is_refused():
    owner, _ = _owner()
    for strange in ((10**400, 0.0, 0.0, 0.0), ("1", 0.0, 0.0, 0.0), (None, 0.0, 0.0, 0.0)):
        with pytest.raises(Refusal, match="not a finite number"):
            owner.answer(_query(theta=strange))


def test_a_gradient_without_bound_is_refused():
    with pytest.raises(TreatyError, match="give a finite theta_max, or clip the gradient"):
        _owner(problem=problem(Squared(), theta_max=math.inf))
