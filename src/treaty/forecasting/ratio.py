"""Ratios over random halves of a stand-in, with intervals."""

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from treaty.measures import Estimate


def ratio(
    above: Sequence[float],
    below: Sequence[float],
    extra_variance: float = 0.0,
    monte_carlo: float = 0.0,
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
    """
    a, b = np.asarray(above, float), np.asarray(below, float)
    value = float(a.mean() / b.mean())
    if not math.isfinite(value):
        return Estimate(value, value, value)
    residual = a - value * b
    folds = len(a)
    by_chance = min(monte_carlo, float(residual.var(ddof=1)))
    of_folds = (float(residual.var(ddof=1)) - by_chance * (1 - 1 / folds)) / float(b.mean()) ** 2
    t = float(stats.t.ppf(0.95, folds - 1))
    spread = math.sqrt(t**2 * of_folds + 1.645**2 * extra_variance)
    if value <= 0:
        return Estimate(value, value - spread, value + spread)
    wide = spread / value
    return Estimate(value, value / (1 + wide), value * (1 + wide))


def above_zero(estimate: Estimate) -> Estimate:
    """Return an estimate of ψ, which is never below 0, though an estimate of it can be."""
    return Estimate(*(max(0.0, end) for end in (estimate.value, estimate.low, estimate.high)))
