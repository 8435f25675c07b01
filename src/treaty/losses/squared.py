"""Squared loss, for linear regression."""

import math
from typing import ClassVar

from treaty.arrays import FloatArray
from treaty.losses.base import Loss


class Squared(Loss):
    """φ(z, y) = (y − z)²."""

    name: ClassVar[str] = "squared"
    sufficient_statistics: bool = True
    curvature_bound: float = 2.0

    def value(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return (y − z)²."""
        residual = score - target
        return residual * residual

    def slope(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return 2(z − y)."""
        return 2.0 * (score - target)

    def slope_bound(self, score_bound: float, target: tuple[float, float]) -> float:
        """Return 2(Z + max|y|), infinite when the score is not bounded."""
        if math.isinf(score_bound):
            return math.inf
        return 2.0 * (score_bound + max(abs(target[0]), abs(target[1])))

    def curvature(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return 2."""
        return 0.0 * (score + target) + 2.0

    def score_at_slope(self, slope: FloatArray, target: FloatArray) -> FloatArray:
        """Return y + slope/2."""
        return target + 0.5 * slope
