"""Logistic loss, for classification with probabilities."""

from typing import ClassVar

import numpy as np
from scipy.special import expit

from treaty.arrays import FloatArray
from treaty.losses.base import Loss


class Logistic(Loss):
    """φ(z, y) = log(1 + exp(−yz)), y ∈ {−1, +1}."""

    name: ClassVar[str] = "logistic"
    labels: bool = True
    curvature_bound: float = 0.25

    def value(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return log(1 + exp(−yz)) without overflow."""
        return np.logaddexp(0.0, -target * score)

    def slope(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return −y / (1 + exp(yz))."""
        return -target * np.asarray(expit(-target * score))

    def slope_bound(self, score_bound: float, target: tuple[float, float]) -> float:
        """Return 1/(1 + exp(−Z)), which is below 1."""
        return float(expit(score_bound))

    def curvature(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return s(1 − s) with s = 1/(1 + exp(−yz))."""
        s = np.asarray(expit(target * score))
        return s * (1.0 - s)
