"""What releases come to, against composition written out in exact fractions and decimals."""

import decimal
import itertools
import math

import pytest
from dp_accounting import GaussianDpEvent, LaplaceDpEvent, NonPrivateDpEvent
from hypothesis import given, settings
from hypothesis import strategies as st

from treaty.errors import TreatyError
from treaty.privacy import Budget
from treaty.privacy.accounting import composed_delta, epsilon_of, pure_epsilon_each
from treaty.privacy.mechanism import ROUND_UP


def _exact_delta(each: float, answers: int, epsilon: float) -> decimal.Decimal:
    """δ of T randomised responses by its definition: Σ over outcomes of max(0, P − e^ε Q)."""
    with decimal.localcontext(decimal.Context(prec=60)):
        odds = decimal.Decimal(each).exp()
        truth, lie = odds / (1 + odds), 1 / (1 + odds)
        bound = decimal.Decimal(epsilon).exp()
        total = decimal.Decimal(0)
        for lies in range(answers + 1):
            one = truth ** (answers - lies) * lie**lies
            other = lie ** (answers - lies) * truth**lies
            total += math.comb(answers, lies) * max(decimal.Decimal(0), one - bound * other)
        return total


def test_two_answers_by_hand():
    """With ε₀ = ln 3 a lie has odds 1 to 3: at ε = ln 3 only two truths count, 9/16 − 3/16."""
    assert composed_delta(math.log(3), 2, math.log(3)) == pytest.approx(6 / 16, rel=1e-8)


@settings(max_examples=60, deadline=None)
@given(
    st.floats(1e-3, 3.0), st.integers(1, 60), st.floats(0.01, 1.2)
)  # the share of all that is added up
def test_delta_is_that_of_its_definition(each, answers, share):
    epsilon = each * answers * share
    exact = float(_exact_delta(each, answers, epsilon))
    found = composed_delta(each, answers, epsilon)
    assert exact <= found * (1 + 1e-12) + 1e-50
    assert found <= exact * (1 + 1e-6) + 1e-300


@pytest.mark.parametrize("delta", [1e-6, 1e-10, 1e-14, 1e-30])
@pytest.mark.parametrize("answers", [2, 5, 20, 60])
def test_tiny_deltas_are_kept(delta, answers):
    """A Fourier transform in doubles adds some 1e-16 here, and exceeds δ by far."""
    each = pure_epsilon_each(Budget(1.0, delta), answers)
    assert each >= 1.0 / answers
    # An answer's noise is rounded up by a trifle, which keeps ε/T that was rounded to a double.
    assert float(_exact_delta(each / ROUND_UP, answers, 1.0)) <= delta
    if each > 1.0 / answers * 1.001:
        assert float(_exact_delta(each * 1.001, answers, 1.0)) > delta


def test_outcomes_of_three_answers_one_by_one():
    each, epsilon = 0.7, 1.1
    truth = 1 / (1 + math.exp(-each))
    total = 0.0
    for lies in itertools.product((0, 1), repeat=3):
        one = math.prod(1 - truth if lie else truth for lie in lies)
        other = math.prod(truth if lie else 1 - truth for lie in lies)
        total += max(0.0, one - math.exp(epsilon) * other)
    assert composed_delta(each, 3, epsilon) == pytest.approx(total, rel=1e-8)


@pytest.mark.parametrize("answers", [1, 2, 10, 1000])
def test_there_and_back(answers):
    """What is granted is what is spent when all answers are given, and less before."""
    budget = Budget(1.0, 1e-6)
    each = pure_epsilon_each(budget, answers)
    event = LaplaceDpEvent(1 / each)
    assert epsilon_of({event: answers}, 1e-6) == pytest.approx(1.0, rel=1e-6)
    if answers > 1:
        half = epsilon_of({event: answers // 2}, 1e-6)
        assert half < 0.75
        assert half >= 0.5 * (1 - 1e-9)


def test_pure_answers_add_up():
    assert epsilon_of({LaplaceDpEvent(4.0): 3, LaplaceDpEvent(2.0): 1}, 0.0) == 1.25
    assert epsilon_of({}, 0.0) == epsilon_of({LaplaceDpEvent(0.0): 0}, 0.0) == 0.0


@pytest.mark.parametrize("event", [NonPrivateDpEvent(), LaplaceDpEvent(0.0), GaussianDpEvent(0.0)])
def test_no_noise_has_no_end(event):
    assert epsilon_of({event: 1}, 1e-6) == math.inf


def test_gaussian_answers_are_never_pure():
    assert epsilon_of({GaussianDpEvent(10.0): 1}, 0.0) == math.inf


def test_both_kinds_share_the_delta():
    both = epsilon_of({GaussianDpEvent(10.0): 2, LaplaceDpEvent(5.0): 1}, 1e-6)
    assert both == pytest.approx(epsilon_of({GaussianDpEvent(10.0): 2}, 5e-7) + 0.2)


def test_what_is_not_known_is_refused():
    from dp_accounting import UnsupportedDpEvent

    with pytest.raises(TreatyError, match="what a UnsupportedDpEvent comes to is not known"):
        epsilon_of({UnsupportedDpEvent(): 1}, 0.0)
