"""Gaussian noise: (ε, δ), growing with √T where pure ε grows with T."""

import functools
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import ndtri

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.losses import Norm
from treaty.privacy.accounting import gaussian_multiplier
from treaty.privacy.budget import Budget
from treaty.privacy.mechanism import Mechanism
from treaty.privacy.samplers import granularity, samplers

if TYPE_CHECKING:  # dp-accounting takes a second to import
    from dp_accounting import DpEvent

SMALLEST, LARGEST = 1e-6, 1e3
"""Between these ε, dp-accounting's σ keeps δ to all digits; a test holds it to that."""


@functools.lru_cache(maxsize=64)
def measurement(scale: float, size: int) -> Any:
    """Return OpenDP's mechanism for vectors of a size; an owner uses one over and over."""
    space = samplers()
    return space.m.make_gaussian(
        space.vector_domain(space.atom_domain(T=float, nan=False), size=size),
        space.l2_distance(T=float),
        scale=scale,
        k=granularity(scale, size),
    )


class Gaussian(Mechanism):
    """Independent Gaussian noise of standard deviation σ = m·Δ₂ on every coordinate."""

    name: ClassVar[str] = "gaussian"
    norm: ClassVar[Norm] = "l2"

    def check(self, budget: Budget) -> None:
        """Refuse δ = 0: Gaussian noise is never purely private."""
        if budget.delta == 0 and not budget.unlimited:
            raise TreatyError(
                "gaussian noise needs a delta above 0 for every party, such as 1e-6; "
                "for pure epsilon choose the laplace mechanism"
            )
        if not budget.unlimited and not SMALLEST <= budget.epsilon <= LARGEST:
            raise TreatyError(
                f"gaussian noise is accounted for between epsilon {SMALLEST:g} and {LARGEST:g}, "
                f"not at {budget.epsilon:g}"
            )

    def multiplier(self, budget: Budget, answers: int) -> float:
        """Return σ/Δ₂, exact for the composition of all answers."""
        return gaussian_multiplier(budget, answers)

    def variance(self, scale: float, dimension: int) -> float:
        """Return pσ²."""
        return dimension * (scale * scale)

    def event(self, multiplier: float) -> "DpEvent":
        """Return a Gaussian event of this noise multiplier."""
        from dp_accounting import GaussianDpEvent

        return GaussianDpEvent(multiplier)

    def reach(self, scale: float, dimension: int, probability: float) -> float:
        """Return σ·t with P(|w| > σ·t) = q/p for each of p coordinates."""
        return scale * -float(ndtri(probability / (2 * dimension)))

    def noised(self, answer: FloatArray, scale: float) -> FloatArray:
        """Return the answer with Gaussian noise from OpenDP's exact sampler."""
        return np.array(measurement(scale, len(answer))(answer.tolist()))

    def draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Return simulated Gaussian noise of scale 1."""
        return random.standard_normal(size=shape)
