"""Laplace noise: pure ε, or (ε, δ) through optimal composition."""

import functools
import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treaty.arrays import FloatArray
from treaty.losses import Norm
from treaty.privacy.accounting import pure_epsilon_each
from treaty.privacy.budget import Budget
from treaty.privacy.mechanism import Mechanism
from treaty.privacy.samplers import granularity, samplers

if TYPE_CHECKING:  # dp-accounting takes a second to import
    from dp_accounting import DpEvent


@functools.lru_cache(maxsize=64)
def measurement(scale: float, size: int) -> Any:
    """Return OpenDP's mechanism for vectors of a size; an owner uses one over and over."""
    space = samplers()
    return space.m.make_laplace(
        space.vector_domain(space.atom_domain(T=float, nan=False), size=size),
        space.l1_distance(T=float),
        scale=scale,
        k=granularity(scale, size),
    )


class Laplace(Mechanism):
    """Independent Laplace noise of scale b = Δ₁/ε₀ on every coordinate (W Thm 1, F Thm 1).

    One answer is ε₀-private; T answers are Tε₀-private.
    """

    name: ClassVar[str] = "laplace"
    norm: ClassVar[Norm] = "l1"

    def check(self, budget: Budget) -> None:
        """Accept every budget."""

    def multiplier(self, budget: Budget, answers: int) -> float:
        """Return 1/ε₀."""
        return 1.0 / pure_epsilon_each(budget, answers)

    def variance(self, scale: float, dimension: int) -> float:
        """Return 2pb²."""
        return dimension * (2.0 * scale * scale)

    def event(self, multiplier: float) -> "DpEvent":
        """Return a Laplace event of this noise multiplier."""
        from dp_accounting import LaplaceDpEvent

        return LaplaceDpEvent(multiplier)

    def reach(self, scale: float, dimension: int, probability: float) -> float:
        """Return b·ln(p/q): P(|w| > b·t) = exp(−t) for each of p coordinates."""
        return scale * math.log(dimension / probability)

    def noised(self, answer: FloatArray, scale: float) -> FloatArray:
        """Return the answer with Laplace noise from OpenDP's exact sampler."""
        return np.array(measurement(scale, len(answer))(answer.tolist()))

    def draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Return simulated Laplace noise of scale 1."""
        return random.laplace(size=shape)
