"""What a loss is and what it declares."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np

from treaty.arrays import FloatArray
from treaty.matrices import Matrix

Norm = Literal["l1", "l2"]


@dataclass(frozen=True)
class Domain:
    """The public set that every record (x, y) lies in, once clamped and scaled.

    Args:
        dimension: p, the length of x, the constant column included.
        l1: sup of ‖x‖₁.
        l2: sup of ‖x‖₂.
        target: the interval of y.
    """

    dimension: int
    l1: float
    l2: float
    target: tuple[float, float]

    def norm(self, norm: Norm) -> float:
        """Return the sup of ‖x‖ in the given norm."""
        return self.l1 if norm == "l1" else self.l2


class Loss(ABC):
    """A convex loss of a linear score, ℓ(θ; x, y) = φ(θᵀx, y).

    A subclass gives φ (`value`), its derivative in the score (`slope`; any sub-gradient will do)
    and declares what it knows of them. Everything else — gradients of many models at once,
    sensitivities, noise, exact optima — is derived from that.

    All methods take arrays that broadcast against each other and return their common shape.
    """

    name: ClassVar[str]
    labels: bool = False
    """Whether targets must be −1 or +1."""
    sufficient_statistics: bool = False
    """Whether XᵀX, Xᵀy, yᵀy and n determine the mean loss at every θ. Made use of in losses that come
    with Treaty, whose tests hold them to what they declare."""
    curvature_bound: float = math.inf
    """sup φ″ in the score; infinite for a loss with kinks."""

    @abstractmethod
    def value(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return φ(score, target)."""

    @abstractmethod
    def slope(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return a sub-gradient of φ in the score."""

    @abstractmethod
    def slope_bound(self, score_bound: float, target: tuple[float, float]) -> float:
        """Return the sup of |slope| over |score| ≤ score_bound and targets in the interval."""

    def curvature(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return φ″; by a central difference of the slope unless a subclass knows better."""
        h = 1e-5
        return (self.slope(score + h, target) - self.slope(score - h, target)) / (2 * h)

    def score_at_slope(self, slope: FloatArray, target: FloatArray) -> FloatArray:
        """Return the score where φ′ crosses `slope`; ±1e9 where it never does. By bisection."""
        shape = np.broadcast_shapes(np.shape(slope), np.shape(target))
        low, high = np.full(shape, -1e9), np.full(shape, 1e9)
        for _ in range(100):
            middle = 0.5 * (low + high)
            above = self.slope(middle, target) >= slope
            high = np.where(above, middle, high)
            low = np.where(above, low, middle)
        return high

    def on(self, x: Matrix) -> "Loss":
        """Return this loss as it applies to the rows of x (one score column a row).

        Only a loss that depends on x beyond the score, such as a clipped one, overrides this. Where
        most features are 0, x is a sparse array of SciPy.
        """
        return self

    def gradient_bound(self, domain: Domain, theta_max: float, norm: Norm) -> float:
        """Return Ξ, the sup of ‖∇ℓ‖ over the domain and ‖θ‖∞ ≤ theta_max.

        ∇ℓ = φ′(θᵀx, y)·x and |θᵀx| ≤ θ_max‖x‖₁, so Ξ = sup|φ′| · sup‖x‖. Tight whenever the
        domain is a whole ball: one x attains both suprema.
        """
        return self.slope_bound(theta_max * domain.l1, domain.target) * domain.norm(norm)

    def smoothness(self, domain: Domain) -> float:
        """Return a Lipschitz constant of ∇ℓ in θ: sup φ″ · sup‖x‖₂²."""
        return self.curvature_bound * domain.l2**2

    @property
    def key(self) -> tuple[object, ...]:
        """What tells this loss from another: its class and its numbers."""
        return (type(self), *((name, _key(v)) for name, v in sorted(vars(self).items())))

    @classmethod
    def from_parameters(cls, parameters: dict[str, float]) -> Self:
        """Build the loss from the numbers a treaty gives it."""
        return cls(**parameters)


def _key(value: object) -> object:
    if isinstance(value, Loss):
        return value.key
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[Any, Any]", value)
        return array.dtype.str, array.shape, array.tobytes()
    return repr(value)
