"""A risk plus a ridge around a model: what an adapted model minimises."""

from collections.abc import Callable

import numpy as np

from treaty.arrays import FloatArray
from treaty.fitness import Risk
from treaty.losses import Loss


class AnchoredRisk(Risk):
    """The mean loss plus ½(θ − θ₀)ᵀM(θ − θ₀).

    Args:
        risk: the owner's own records.
        anchor: θ₀, the model to stay near to.
        pull: M, by how much being away from it costs.
    """

    def __init__(self, risk: Risk, anchor: FloatArray, pull: FloatArray) -> None:
        self.risk, self.anchor, self.pull = risk, anchor, pull
        self.n, self.dimension = risk.n, risk.dimension

    def value(self, theta: FloatArray) -> FloatArray:
        """Return the loss and what being away costs."""
        away = theta - self.anchor
        return self.risk.value(theta) + 0.5 * np.einsum("...i,...i->...", away @ self.pull, away)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of both."""
        return self.risk.gradient(theta) + (theta - self.anchor) @ self.pull

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the Hessian of both."""
        return self.risk.hessian(theta) + self.pull

    def along(self, theta: FloatArray, direction: FloatArray) -> Callable[[float], float]:
        """Return the derivative of both along a direction."""
        of_risk = self.risk.along(theta, direction)
        begin = float((theta - self.anchor) @ self.pull @ direction)
        grows = float(direction @ self.pull @ direction)
        return lambda t: of_risk(t) + begin + t * grows

    def with_loss(self, loss: Loss) -> Risk:
        """Return another loss of the same records, with the same ridge."""
        return AnchoredRisk(self.risk.with_loss(loss), self.anchor, self.pull)

    def gradient_covariance(self, theta: FloatArray) -> FloatArray:
        """Return that of the records."""
        return self.risk.gradient_covariance(theta)

    def column(self, index: int) -> Risk:
        """Return the risk of one coordinate."""
        return AnchoredRisk(
            self.risk.column(index), self.anchor[[index]], self.pull[[index]][:, [index]]
        )
