"""The learning problem that all parties agree on: loss, regulariser, Θ and the public domain."""

import math
from dataclasses import dataclass, replace

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.limits import (
    LARGEST_GRADIENT,
    SMALLEST_GRADIENT,
    OutsideLimits,
    check_magnitude,
    check_size,
)
from treaty.losses import Clipped, Domain, Loss, Norm


@dataclass(frozen=True)
class Problem:
    """Minimise f(θ) = (λ/2)‖θ‖₂² + mean ℓ(θ; x, y) over Θ = {‖θ‖∞ ≤ θ_max}.

    Args:
        loss: ℓ, clipped or not.
        domain: the public set of records.
        ridge: λ ≥ 0.
        theta_max: half the width of Θ; infinite only for a loss whose gradient is bounded anyway.
        intercept: the index of the constant column of x, if there is one.
    """

    loss: Loss
    domain: Domain
    ridge: float = 0.0
    theta_max: float = math.inf
    intercept: int | None = None

    def __post_init__(self) -> None:
        check_domain(self.domain)
        check_size("theta_max", self.theta_max, infinite=True)
        check_size("ridge", self.ridge, zero=True)

    @property
    def dimension(self) -> int:
        """p, the number of parameters."""
        return self.domain.dimension

    @property
    def axes(self) -> FloatArray | None:
        """A, shape (p, k): owners are asked for Aᵀ∇ℓ, k numbers; None where they give all p."""
        return self.loss.axes if isinstance(self.loss, Clipped) else None

    @property
    def fitness_loss(self) -> Loss:
        """The loss that fitness is measured with: the unclipped one, so that bias shows."""
        return self.loss.loss if isinstance(self.loss, Clipped) else self.loss

    @property
    def fitness_key(self) -> tuple[object, ...]:
        """What tells apart the problems that fitness is measured with: all but the clip."""
        return (self.fitness_loss.key, self.domain, self.ridge, self.theta_max, self.intercept)

    def along(self, axes: FloatArray) -> "Problem":
        """Return the problem of which owners are asked along axes, shape (p, k)."""
        if not isinstance(self.loss, Clipped):
            raise TreatyError(
                "training.axes: gradients along a few axes have no bound unless they are clipped: set "
                "loss.clip, or leave axes out"
            )
        if axes.shape[0] != self.dimension:
            raise TreatyError(
                f"axes of {axes.shape[0]} numbers do not go with gradients of {self.dimension}"
            )
        return replace(self, loss=self.loss.along(axes))

    def under_norm(self, norm: Norm) -> "Problem":
        """Return the problem as a mechanism with this norm needs it: a clip may follow the norm."""
        if not isinstance(self.loss, Clipped):
            return self
        loss = self.loss.in_norm_of_mechanism(norm)
        return self if loss is self.loss else replace(self, loss=loss)

    def gradient_bound(self, norm: Norm) -> float:
        """Return Ξ in the given norm, or say why there is none."""
        bound = self.loss.gradient_bound(self.domain, self.theta_max, norm)
        if not math.isfinite(bound):
            raise TreatyError(
                f"the gradient of the {self.loss.name} loss has no bound here: "
                "give a finite theta_max, or clip the gradient"
            )
        if not SMALLEST_GRADIENT <= bound <= LARGEST_GRADIENT:
            raise OutsideLimits(
                f"the largest gradient Ξ must lie between {SMALLEST_GRADIENT:g} and "
                f"{LARGEST_GRADIENT:g}, not {bound:g}"
            )
        return bound

    def loss_at_zero(self, target: FloatArray) -> FloatArray:
        """Return ℓ(0; x, y), which no record's features can change."""
        return self.fitness_loss.value(np.zeros_like(target), target)

    @property
    def smoothness(self) -> float:
        """A Lipschitz constant of ∇f over the public domain; infinite for a loss with kinks."""
        return self.loss.smoothness(self.domain) + self.ridge

    def project(self, theta: FloatArray) -> FloatArray:
        """Return the nearest point of Θ."""
        if math.isinf(self.theta_max):
            return theta
        return np.clip(theta, -self.theta_max, self.theta_max)

    def penalty(self, theta: FloatArray) -> FloatArray:
        """Return g(θ) = (λ/2)‖θ‖₂² for each θ."""
        return 0.5 * self.ridge * np.einsum("...i,...i->...", theta, theta)


def check_domain(domain: Domain) -> None:
    """Refuse a domain whose numbers are too small or too large to compute a sensitivity with."""
    check_size("the largest ‖x‖₁", domain.l1)
    check_size("the largest ‖x‖₂", domain.l2)
    for end in domain.target:
        check_magnitude("a bound of the target", end)
    check_size("the largest |y|", max(abs(end) for end in domain.target))
