"""Synchronous projected sub-gradient descent with averaging (W, Algorithm 2)."""

import math
from typing import ClassVar

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.learners.bound import Bound
from treaty.learners.learner import Brief, Learner
from treaty.questions import MeanGradient, Question


class AveragedSubgradient(Learner):
    """Everybody is asked in every round k = 1..T−1; the model is a running average θ̄.

        θ̄ ← (k−1)/(1/√T + k) · θ̄ + (1/√T + 1)/(1/√T + k) · θ      (the θ before the step)
        θ ← Π_Θ[θ − c₁/√k · (∂g + Σ w_i Q̄_i)]

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

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        shape = brief.geometry
        steepness = math.sqrt(shape.gradient**2 + brief.noise)
        usual = min(shape.distance / steepness, shape.longest_step) if steepness > 0 else 1.0
        self._c1 = brief.parameters.get("c1", usual)
        if not 0 < self._c1 < math.inf:
            raise TreatyError(
                f"{self.name} finds no step size of its own here: give c1, or a finite theta_max"
            )
        self.step_sizes = {"c1": self._c1}
        self._root = 1.0 / math.sqrt(brief.horizon)
        self._theta = brief.begin
        self.model = self._theta

    @classmethod
    def check(cls, problem: Problem, horizon: int) -> None:
        """Need nothing but convexity."""

    @classmethod
    def questions(cls, horizon: int) -> int:
        """Return T − 1."""
        return horizon - 1

    def ask(self, bloc: IntArray | int) -> Question:
        """Ask for the mean gradient at θ[k]."""
        return MeanGradient(self._theta)

    def tell(self, bloc: IntArray | int, answer: FloatArray) -> None:
        """Average, then step and project."""
        k = self.round
        self.model = ((k - 1) * self.model + (self._root + 1) * self._theta) / (self._root + k)
        step = self._c1 / math.sqrt(k)
        self._theta = self.problem.project(
            self._theta - step * (self.problem.ridge * self._theta + answer)
        )
        self.round += 1

    def bound(self, *, as_published: bool = False) -> Bound:
        """Return W Theorem 3, for any convex f, steps c₁/√k and the averaging weights ζ_k.

        With D the diameter of Θ, G the largest ‖∂f‖ and K = T − 1: f(θ̄) − f* ≤ Σ ζ_k (f(θ_k) − f*),
        and summing (‖θ_k − θ*‖² − ‖θ_{k+1} − θ*‖²)√k/(2c₁) by parts, with ζ_k√k increasing, gives

            E f(θ̄) − f* ≤ ζ_K√K D²/(2c₁) + (c₁/2) Σ (ζ_k/√k)(G² + E‖w‖²).
        """
        n, T = self.public_numbers(as_published), self.brief.horizon
        if T == 1:
            return Bound("W Theorem 3", n.start_cost, 0.0)
        zeta, root = averaging_weights(T), np.sqrt(np.arange(1, T))
        per_square = 0.5 * self._c1 * float(np.sum(zeta / root))
        travel = float(zeta[-1] * root[-1]) * n.diameter**2 / (2 * self._c1)
        return Bound("W Theorem 3", travel + per_square * n.steepest**2, per_square * n.noise)


def averaging_weights(horizon: int) -> FloatArray:
    """Return ζ_k, the weight of θ[k] in the model θ̄; they sum to 1 and increase."""
    root = 1 / math.sqrt(horizon)
    k = np.arange(1, horizon)
    kept = (k - 1) / (root + k)
    later = np.append(np.cumprod(kept[::-1])[::-1][1:], 1.0)
    return np.asarray((root + 1) / (root + k) * later, dtype=np.float64)
