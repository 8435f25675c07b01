"""Synchronous gradient descent with steps ρ/(T²k) (W, Algorithm 1)."""

import math
from typing import ClassVar

from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.learners.learner import Learner, Setting


class ShrinkingSteps(Learner):
    """Everybody is asked in every round; θ ← θ − ρ/(T²k) · (∇g + Σ (n_i/n) Q̄_i), k = 1..T−1.

    For smooth losses. As published there is no projection, which is what happens with an infinite
    theta_max; a finite one is respected, because an owner answers no θ outside Θ.

    Parameters:
        rho: ρ. By default T²/(smoothness), so that the first step is 1/(smoothness): with a fixed ρ
            the steps sum to about ρ ln(T)/T² and the iterate hardly moves.

    References:
        Wu, Farokhi, Smith, Kaafar: The Value of Collaboration in Convex Machine Learning with
        Differential Privacy, Algorithm 1 and Theorem 2.
    """

    name: ClassVar[str] = "shrinking-steps"
    synchronous: ClassVar[bool] = True
    parameters: ClassVar[frozenset[str]] = frozenset({"rho"})

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        T = setting.horizon
        self.rho = setting.parameters.get("rho", T**2 * setting.geometry.longest_step)
        self.rounds = self.questions(T)
        self._first_step = self.rho / T**2
        self.model = setting.begin

    @classmethod
    def check(cls, problem: Problem) -> None:
        """Need a smooth loss."""
        if math.isinf(problem.smoothness):
            raise TreatyError(
                f"{cls.name} needs a smooth loss and the {problem.loss.name} loss has kinks: "
                "use averaged-subgradient"
            )

    @classmethod
    def questions(cls, horizon: int) -> int:
        """Return T − 1."""
        return horizon - 1

    def ask(self, bloc: IntArray | int) -> FloatArray:
        """Return θ[k]."""
        return self.model

    def tell(self, bloc: IntArray | int, answer: FloatArray) -> None:
        """Step along the answered gradient."""
        step = self._first_step / self.round
        self.model = self.problem.project(
            self.model - step * (self.problem.ridge * self.model + answer)
        )
        self.round += 1
