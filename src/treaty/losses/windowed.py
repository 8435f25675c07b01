"""A loss with kinks made smooth, from nothing but its value and its slope."""

from typing import ClassVar

from treaty.arrays import FloatArray
from treaty.losses.base import Loss


class Windowed(Loss):
    """φ_h(z) = (1/2h) ∫ φ over [z − h, z + h]: smooth, convex, and never below φ.

    Args:
        loss: φ.
        half_width: h > 0.
    """

    name: ClassVar[str] = "windowed"

    def __init__(self, loss: Loss, half_width: float) -> None:
        self.loss = loss
        self.h = half_width

    def value(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return φ itself, which differs by at most (h/2)·sup|φ′|."""
        return self.loss.value(score, target)

    def slope(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return (φ(z + h) − φ(z − h)) / 2h, the exact slope of the average."""
        h = self.h
        return (self.loss.value(score + h, target) - self.loss.value(score - h, target)) / (2 * h)

    def slope_bound(self, score_bound: float, target: tuple[float, float]) -> float:
        """Return the bound of the loss itself."""
        return self.loss.slope_bound(score_bound + self.h, target)

    def curvature(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return (φ′(z + h) − φ′(z − h)) / 2h."""
        h = self.h
        return (self.loss.slope(score + h, target) - self.loss.slope(score - h, target)) / (2 * h)
