"""Synchronous gradient descent with steps ρ/(T²k) (W, Algorithm 1)."""

import math
from typing import ClassVar

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.learners.bound import Bound
from treaty.learners.learner import Brief, Learner
from treaty.questions import MeanGradient, Question


class ShrinkingSteps(Learner):
    """Everybody is asked in every round; θ ← θ − ρ/(T²k) · (∇g + Σ w_i Q̄_i), k = 1..T−1.

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

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        T = brief.horizon
        rho = brief.parameters.get("rho", T**2 * brief.geometry.longest_step)
        self.step_sizes = {"rho": rho}
        self._first_step = rho / T**2
        self.model = brief.begin

    @classmethod
    def check(cls, problem: Problem, horizon: int) -> None:
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

    def ask(self, bloc: IntArray | int) -> Question:
        """Ask for the mean gradient at θ[k]."""
        return MeanGradient(self.model)

    def tell(self, bloc: IntArray | int, answer: FloatArray) -> None:
        """Step along the answered gradient."""
        step = self._first_step / self.round
        self.model = self.problem.project(
            self.model - step * (self.problem.ridge * self.model + answer)
        )
        self.round += 1

    def bound(self, *, as_published: bool = False) -> Bound:
        """Return W Theorem 2, for a λ-smooth and L-strongly convex f and steps ρ_k = ρ/(T²k) ≤ 1/λ.

        Published: (8Ξ²ρ/(Ln²)) Σ 1/ε_i² for a large enough T. Kept here: the recursion behind it.
        Without a box Δ_{k+1} ≤ (1 − Lρ_k)Δ_k + (λ/2)ρ_k²E‖w‖² for Δ = E f − f*; with one, distances
        obey d²_{k+1} ≤ (1 − Lρ_k)²d²_k + ρ_k²E‖w‖², and f − f* ≤ sup‖∇f‖·d.
        """
        name = "W Theorem 2"
        n, problem, T = self.public_numbers(as_published), self.problem, self.brief.horizon
        rho, L, smooth = self.step_sizes["rho"], problem.ridge, problem.smoothness
        if as_published:
            # Σ (n_i/n)²·2b_i² = 8Ξ²T²/n² Σ 1/ε_i²
            return Bound(name, 0.0, math.inf if L == 0 else rho * n.noise / (T**2 * L))
        steps = rho / (T**2 * np.arange(1, max(2, T)))
        if steps[0] > 1 / smooth * (1 + 1e-9):
            return Bound(name, math.inf, math.inf)
        if T == 1:
            return Bound(name, n.start_cost, 0.0)
        if math.isinf(problem.theta_max):
            left, added = n.start_cost, 0.0
            for step in steps:
                left *= 1 - L * step
                added = (1 - L * step) * added + 0.5 * smooth * step**2 * n.noise
            return Bound(name, left, added)
        left, added = n.distance**2, 0.0
        for step in steps:
            left *= (1 - L * step) ** 2
            added = (1 - L * step) ** 2 * added + step**2 * n.noise
        without = n.steepest * math.sqrt(left)
        return Bound(name, without, n.steepest * math.sqrt(left + added) - without)
