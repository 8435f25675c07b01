"""What a mechanism is: how much noise, and the noise itself, live or simulated."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.losses import Norm
from treaty.privacy.budget import Budget

if TYPE_CHECKING:  # dp-accounting takes a second to import
    from dp_accounting import DpEvent

ROUND_UP = 1.0 + 2.0**-40
"""Scales are rounded up by this much, so that a budget computed in floats is kept in fractions."""


class Mechanism(ABC):
    """Noise added to a vector whose sensitivity is known in one norm."""

    name: ClassVar[str]
    norm: ClassVar[Norm]
    """The norm in which it takes the sensitivity."""

    @abstractmethod
    def check(self, budget: Budget) -> None:
        """Say why this mechanism cannot keep such a budget, if it cannot."""

    @abstractmethod
    def multiplier(self, budget: Budget, answers: int) -> float:
        """Return scale/sensitivity such that all `answers` together keep within the budget."""

    @abstractmethod
    def variance(self, scale: float, dimension: int) -> float:
        """Return E‖w‖² of the noise w on a vector of so many numbers."""

    @abstractmethod
    def event(self, multiplier: float) -> "DpEvent":
        """Return what one answer releases, in dp-accounting's vocabulary."""

    @abstractmethod
    def reach(self, scale: float, dimension: int, probability: float) -> float:
        """Return a size that no coordinate's noise exceeds, but with this small probability."""

    def release(self, answer: FloatArray, scale: float) -> FloatArray:
        """Return the answer with live noise from OpenDP.

        Raises:
            TreatyError: a number is not finite. OpenDP would read NaN as 0 and an infinite number as the
                largest double, and say nothing.
        """
        if not np.isfinite(answer).all():
            raise TreatyError("an answer that is not finite is never released")
        if not 0 < scale < np.inf:
            raise TreatyError(f"noise of scale {scale:g} is no noise")
        return self.noised(answer, scale)

    @abstractmethod
    def noised(self, answer: FloatArray, scale: float) -> FloatArray:
        """Return a finite answer with live noise of a positive scale, from OpenDP."""

    @abstractmethod
    def draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Return simulated noise of scale 1. Never for a real answer."""

    def scale(self, sensitivity: float, budget: Budget, answers: int) -> float:
        """Return the noise scale that keeps `answers` answers within the budget."""
        self.check(budget)
        if budget.unlimited:
            return 0.0
        scale = sensitivity * self.multiplier(budget, answers) * ROUND_UP
        if not 0 < scale < np.inf:
            raise TreatyError(f"the noise came out with a scale of {scale:g}")
        return scale
