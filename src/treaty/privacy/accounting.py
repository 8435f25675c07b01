"""From what is released to (ε, δ), and back: how much noise several answers need to keep a budget."""

import functools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from treaty.errors import TreatyError
from treaty.privacy.budget import Budget

if TYPE_CHECKING:  # dp-accounting takes a second to import
    from dp_accounting import DpEvent

LOOSEST = 500.0
"""Above this ε, δ buys next to nothing, and its exponential overflows."""
SOLVER_SLACK = 1.0 + 1e-7
"""What σ is multiplied by, against the rounding of its solver."""
TERMS = 20_000
"""So many terms of a sum are added up; what is left of it is bounded by its probability."""
SUM_SLACK = 1.0 + 1e-9
"""What that sum is multiplied by, against rounding: all of its terms are positive."""
FINE = 1e-9
"""An ε that is searched for is found up to this share."""


def composed_delta(each: float, answers: int, epsilon: float) -> float:
    """Return the δ at which `answers` pure ε₀-private answers are (ε, δ)-private together, rounded up.

    The worst ε₀-private answer is randomised response: it tells the truth with odds e^ε₀ to 1. Of T such
    answers L are lies with probability Binomial(T, q)(L), q = 1/(1 + e^ε₀), and their privacy loss is
    (T − 2L)ε₀, so that

        δ = Σ_L Binomial(T, q)(L) · max(0, 1 − exp(ε − (T − 2L)ε₀)).

    Every term is positive, so the sum has no cancellation, however small δ is.

    References:
        Kairouz, Oh, Viswanath: The composition theorem for differential privacy, 2015, Theorem 3.3.
    """
    from scipy import stats  # takes a second to import

    lies = 1.0 / (1.0 + math.exp(each))
    # The loss exceeds ε for L < (T − ε/ε₀)/2; the largest terms lie next to that end.
    last = min(math.ceil((answers - epsilon / each) / 2.0), answers)
    if last < 0:
        return 0.0
    first = max(0, last - TERMS)
    count = np.arange(first, last + 1)
    loss = (answers - 2.0 * count) * each
    share = -np.expm1(np.minimum(epsilon - loss, 0.0))
    terms = stats.binom.pmf(count, answers, lies) * share
    left = float(stats.binom.cdf(first - 1, answers, lies)) if first else 0.0
    return (math.fsum(terms.tolist()) + left) * SUM_SLACK


def _largest(low: float, high: float, fits: Callable[[float], bool]) -> float:
    """Return the largest number up to `high` that fits, found by halving; `low` does."""
    if fits(high):
        return high
    while high / low > 1.0 + FINE:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


@functools.cache
def pure_epsilon_each(budget: Budget, answers: int) -> float:
    """Return the ε₀ such that `answers` pure ε₀-private answers are (ε, δ)-private together.

    With δ = 0 that is ε/answers, by composition. With δ > 0 it is the largest ε₀ that optimal
    composition allows.
    """
    plain = budget.epsilon / answers
    if budget.delta == 0 or budget.epsilon > LOOSEST or answers == 1:
        return plain
    return _largest(
        plain,
        budget.epsilon,
        lambda each: composed_delta(each, answers, budget.epsilon) <= budget.delta,
    )


@functools.cache
def gaussian_multiplier(budget: Budget, answers: int) -> float:
    """Return σ/Δ₂ such that `answers` Gaussian answers are (ε, δ)-private together.

    `answers` Gaussians of multiplier m compose exactly to one of multiplier m/√answers, and
    dp-accounting solves for that one without slack (Balle and Wang 2018). Its doubles can leave δ
    exceeded by up to a millionth, so that a little is added.
    """
    if budget.unlimited:
        return 0.0
    import dp_accounting

    one = float(dp_accounting.get_sigma_gaussian(budget.epsilon, budget.delta))
    return one * SOLVER_SLACK * math.sqrt(answers)


def epsilon_of(released: "Mapping[DpEvent, int]", delta: float) -> float:
    """Return the ε that releases come to together, at a δ: what they let be concluded about one record.

    Laplace answers are composed as pure ones, at most by adding up; Gaussian ones exactly. Of both kinds
    together each takes half of the δ.

    Args:
        released: what was released, and how often.
        delta: the δ.
    """
    from dp_accounting import GaussianDpEvent, LaplaceDpEvent, NonPrivateDpEvent

    pure: list[tuple[float, int]] = []
    precision = 0.0
    for event, times in released.items():
        if not times:
            continue
        if isinstance(event, NonPrivateDpEvent):
            return math.inf
        if not isinstance(event, LaplaceDpEvent | GaussianDpEvent):
            raise TreatyError(f"what a {type(event).__name__} comes to is not known")
        if event.noise_multiplier <= 0:
            return math.inf
        if isinstance(event, LaplaceDpEvent):
            pure.append((1.0 / event.noise_multiplier, times))
        else:
            precision += times / event.noise_multiplier**2
    share = delta / 2.0 if pure and precision else delta
    return _pure_epsilon(pure, share) + _gaussian_epsilon(precision, share)


def _pure_epsilon(answers: list[tuple[float, int]], delta: float) -> float:
    """Return the ε at a δ of pure answers: (ε₀, how many) each."""
    added = float(sum((Fraction(each) * times for each, times in answers), Fraction(0)))
    if delta == 0 or len(answers) != 1 or not 0 < added <= LOOSEST or answers[0][1] == 1:
        return added
    each, times = answers[0]
    if composed_delta(each, times, added * FINE) <= delta:
        return added * FINE
    # δ falls as ε grows: the least ε that fits is at the other end of the search for what does not.
    unfit = _largest(added * FINE, added, lambda e: composed_delta(each, times, e) > delta)
    return min(added, unfit * (1.0 + FINE))


def _gaussian_epsilon(precision: float, delta: float) -> float:
    """Return the ε at a δ of Gaussian answers, Σ 1/multiplier² being their precision."""
    if precision == 0:
        return 0.0
    if delta == 0:
        return math.inf
    import dp_accounting

    return float(dp_accounting.get_epsilon_gaussian(1.0 / math.sqrt(precision), delta))
