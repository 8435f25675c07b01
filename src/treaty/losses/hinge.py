"""Hinge loss, for linear support vector machines."""

from typing import ClassVar

import numpy as np

from treaty.arrays import FloatArray
from treaty.losses.base import Loss


class Hinge(Loss):
    """φ(z, y) = max(0, 1 − yz), y ∈ {−1, +1}. Convex, with a kink at yz = 1."""

    name: ClassVar[str] = "hinge"
    labels: bool = True

    def value(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return max(0, 1 − yz)."""
        return np.maximum(0.0, 1.0 - target * score)

    def slope(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return −y where yz < 1, else 0."""
        return (score * target < 1.0) * -target

    def slope_bound(self, score_bound: float, target: tuple[float, float]) -> float:
        """Return 1."""
        return 1.0
