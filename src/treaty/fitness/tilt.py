"""Tilting: records with another mean gradient, and the same level and curvature."""

from collections.abc import Callable

import numpy as np

from treaty.arrays import FloatArray
from treaty.fitness.moments import Moments
from treaty.fitness.risk import MomentRisk, Risk
from treaty.losses import Loss


class TiltedRisk(Risk):
    """A risk plus a linear term: slopeᵀ(θ − centre).

    Args:
        risk: the risk.
        slope: by how much every gradient changes.
        centre: where the value stays what it is.
    """

    def __init__(self, risk: Risk, slope: FloatArray, centre: FloatArray) -> None:
        self.risk = risk
        self.slope = slope
        self.centre = centre
        self.n, self.dimension = risk.n, risk.dimension

    def value(self, theta: FloatArray) -> FloatArray:
        """Return the value with the linear term."""
        return self.risk.value(theta) + (theta - self.centre) @ self.slope

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the gradient plus the slope."""
        return self.risk.gradient(theta) + self.slope

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the Hessian, which stays."""
        return self.risk.hessian(theta)

    def along(self, theta: FloatArray, direction: FloatArray) -> Callable[[float], float]:
        """Return the derivative along a direction, with that of the linear term."""
        inner, added = self.risk.along(theta, direction), float(self.slope @ direction)
        return lambda t: inner(t) + added

    def with_loss(self, loss: Loss) -> Risk:
        """Return another loss of the same records, tilted the same way."""
        return TiltedRisk(self.risk.with_loss(loss), self.slope, self.centre)

    def gradient_covariance(self, theta: FloatArray) -> FloatArray:
        """Return the mean of ∇ℓ∇ℓᵀ; what gradients scatter about their mean stays."""
        mean = self.risk.gradient(theta)
        moved = mean + self.slope
        own = self.risk.gradient_covariance(theta)
        return own + np.outer(moved, moved) - np.outer(mean, mean)

    def column(self, index: int) -> Risk:
        """Return the risk of one coordinate."""
        return TiltedRisk(self.risk.column(index), self.slope[[index]], self.centre[[index]])


def tilted(risk: Risk, slope: FloatArray, centre: FloatArray) -> Risk:
    """Return a tilted risk, as moments where it is made of them."""
    if not isinstance(risk, MomentRisk):
        return TiltedRisk(risk, slope, centre)
    m = risk.moments
    return MomentRisk(Moments(m.n, m.xx, m.xy - 0.5 * slope, m.yy - float(slope @ centre)))
