"""A loss in which one label counts more than the other."""

from typing import ClassVar

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.limits import check_size
from treaty.losses.base import Loss


class Weighted(Loss):
    """φ_w(z, y) = w(y)·φ(z, y): records with a rare label count more.

    Every bound grows by the larger weight: two records with that label and opposite features lie
    2·max(w)·Ξ apart.

    Args:
        loss: φ, a loss of labels.
        negative: w(−1).
        positive: w(+1).
    """

    name: ClassVar[str] = "weighted"
    labels: bool = True

    def __init__(self, loss: Loss, negative: float, positive: float) -> None:
        if not loss.labels:
            raise TreatyError(
                f"class weights are for labels, and the {loss.name} loss learns numbers"
            )
        for weight in (negative, positive):
            check_size("a class weight", weight)
        self.loss = loss
        self.negative, self.positive = negative, positive
        self.curvature_bound = self.largest * loss.curvature_bound

    @property
    def largest(self) -> float:
        """The larger of both weights."""
        return max(self.negative, self.positive)

    def _weight(self, target: FloatArray) -> FloatArray:
        return np.where(np.asarray(target) > 0, self.positive, self.negative)

    def value(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return w(y)·φ."""
        return self._weight(target) * self.loss.value(score, target)

    def slope(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return w(y)·φ′."""
        return self._weight(target) * self.loss.slope(score, target)

    def slope_bound(self, score_bound: float, target: tuple[float, float]) -> float:
        """Return max(w) times the bound of φ′."""
        return self.largest * self.loss.slope_bound(score_bound, target)

    def curvature(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return w(y)·φ″."""
        return self._weight(target) * self.loss.curvature(score, target)

    def score_at_slope(self, slope: FloatArray, target: FloatArray) -> FloatArray:
        """Return where φ′ crosses slope/w(y)."""
        return self.loss.score_at_slope(slope / self._weight(target), target)
