"""Huber loss, for linear regression that forgives outliers."""

from typing import ClassVar

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.limits import check_size
from treaty.losses.base import Loss


class Huber(Loss):
    """φ(z, y) = r² for |r| ≤ δ and 2δ|r| − δ² beyond, with r = y − z.

    It agrees with `Squared` inside δ, so that clipping a squared loss gives a Huber loss.

    Args:
        delta: δ > 0, where the loss turns from quadratic to linear.
    """

    name: ClassVar[str] = "huber"
    curvature_bound: float = 2.0

    def __init__(self, delta: float = 1.0) -> None:
        if not delta > 0:
            raise TreatyError(f"huber's delta must be positive, not {delta}")
        check_size("huber's delta", delta)
        self.delta = delta

    def value(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return φ."""
        r = np.abs(score - target)
        inside = np.minimum(r, self.delta)
        return inside * (2.0 * r - inside)

    def slope(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return 2(z − y), limited to ±2δ."""
        return 2.0 * np.clip(score - target, -self.delta, self.delta)

    def slope_bound(self, score_bound: float, target: tuple[float, float]) -> float:
        """Return 2·min(δ, Z + max|y|)."""
        return 2.0 * min(self.delta, score_bound + max(abs(target[0]), abs(target[1])))

    def curvature(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return 2 inside δ and 0 beyond."""
        return np.where(np.abs(score - target) <= self.delta, 2.0, 0.0)
