"""Ratios over random halves of a stand-in, with intervals."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from treaty.measures import Estimate


def ratio(
    above: Sequence[float],
    below: Sequence[float],
    extra_variance: float = 0.0,
    monte_carlo: float = 0.0,
    unseen: float = 1.0,
) -> Estimate:
    """Return Σ above / Σ below over random halves, with an interval from their disagreement.

    The error of a ratio follows from the residuals above − ratio·below. Random halves of a sample
    vary among each other as much as whole samples do (the delete-half jackknife), so their variance
    is taken as it is. The interval is on the logarithmic scale, so that it stays above 0.

    Args:
        above: the numerators, one for each half.
        below: the denominators.
        extra_variance: variance of the ratio from elsewhere, added to that of the halves.
        monte_carlo: variance of each numerator by chance alone; it averages out over the halves.
        unseen: by what factor the variance among the halves falls short of what is not known.
    """
    a, b = np.asarray(above, float), np.asarray(below, float)
    value = float(a.mean() / b.mean())
    if not math.isfinite(value):
        return Estimate(value, value, value)
    residual = a - value * b
    folds = len(a)
    by_chance = min(monte_carlo, float(residual.var(ddof=1)))
    of_folds = (float(residual.var(ddof=1)) - by_chance * (1 - 1 / folds)) / float(b.mean()) ** 2
    t = float(stdtrit(folds - 1, 0.95))
    spread = math.sqrt(t**2 * unseen * of_folds + 1.645**2 * extra_variance)
    if value <= 0:
        return Estimate(value, value - spread, value + spread)
    wide = spread / value
    return Estimate(value, value / (1 + wide), value * (1 + wide))


def above_zero(estimate: Estimate) -> Estimate:
    """Return an estimate of ψ, which is never below 0, though an estimate of it can be."""
    return Estimate(*(max(0.0, end) for end in (estimate.value, estimate.low, estimate.high)))


def between(one: Sequence[float], other: Sequence[float]) -> Estimate:
    """Return an estimate of a positive number that lies between two readings, with draws of each.

    On the logarithmic scale. Each reading has chance of its own; and as the farther one may not be the
    farthest, a third of the distance between them is added beyond it.

    Args:
        one: draws of one reading.
        other: draws of the other.
    """
    logs = [np.log(np.maximum(draws, 1e-12)) for draws in (one, other)]
    middles = [float(values.mean()) for values in logs]
    ends: list[tuple[float, float]] = []
    for values, middle in zip(logs, middles, strict=True):
        reach = 0.0
        if len(values) > 1:
            t = float(stdtrit(len(values) - 1, 0.95))
            reach = t * math.sqrt(1 + 1 / len(values)) * float(values.std(ddof=1))
        ends.append((middle - reach, middle + reach))
    beyond = max(0.0, middles[1] - middles[0]) / 3
    return Estimate(
        math.exp(sum(middles) / 2),
        math.exp(min(low for low, _ in ends)),
        math.exp(max(ends[0][1], ends[1][1] + beyond)),
    )
