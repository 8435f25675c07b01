"""Synchronous projected sub-gradient descent with averaging (W, Algorithm 2)."""

import math
from typing import ClassVar

from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.learners.learner import Learner, Setting


class AveragedSubgradient(Learner):
    """Everybody is asked in every round k = 1..T−1; the model is a running average θ̄.

        θ̄ ← (k−1)/(1/√T + k) · θ̄ + (1/√T + 1)/(1/√T + k) · θ      (the θ before the step)
        θ ← Π_Θ[θ − c₁/√k · (∂g + Σ (n_i/n) Q̄_i)]

    For any convex loss.

    Parameters:
        c1: c₁. By default D/√(G² + V): distance over the root mean square of a noised gradient, as
            sub-gradient descent wants it, and at most 1/(smoothness).

    References:
        Wu, Farokhi, Smith, Kaafar: The Value of Collaboration in Convex Machine Learning with
        Differential Privacy, Algorithm 2 and Theorem 3.
    """

    name: ClassVar[str] = "averaged-subgradient"
    synchronous: ClassVar[bool] = True
    parameters: ClassVar[frozenset[str]] = frozenset({"c1"})

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        shape = setting.geometry
        steepness = math.sqrt(shape.gradient**2 + setting.noise)
        usual = min(shape.distance / steepness, shape.longest_step) if steepness > 0 else 1.0
        self.c1 = setting.parameters.get("c1", usual)
        if not 0 < self.c1 < math.inf:
            raise TreatyError(
                f"{self.name} finds no step size of its own here: give c1, or a finite theta_max"
            )
        self.rounds = self.questions(setting.horizon)
        self._root = 1.0 / math.sqrt(setting.horizon)
        self._theta = setting.begin
        self.model = self._theta

    @classmethod
    def check(cls, problem: Problem) -> None:
        """Need nothing but convexity."""

    @classmethod
    def questions(cls, horizon: int) -> int:
        """Return T − 1."""
        return horizon - 1

    def ask(self, bloc: IntArray | int) -> FloatArray:
        """Return θ[k]."""
        return self._theta

    def tell(self, bloc: IntArray | int, answer: FloatArray) -> None:
        """Average, then step and project."""
        k = self.round
        self.model = ((k - 1) * self.model + (self._root + 1) * self._theta) / (self._root + k)
        step = self.c1 / math.sqrt(k)
        self._theta = self.problem.project(
            self._theta - step * (self.problem.ridge * self._theta + answer)
        )
        self.round += 1
