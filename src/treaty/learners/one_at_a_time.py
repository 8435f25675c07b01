"""Asynchronous learning, one owner at a time (F, Algorithm 1)."""

import math
from typing import ClassVar

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.learners.bound import Bound
from treaty.learners.learner import Brief, Learner
from treaty.questions import MeanGradient, Question


class OneAtATime(Learner):
    """At every step k = 1..T the learner talks to one of N blocs, whoever's clock ticks first.

    It keeps a central model θ_L and one copy θ_i for every bloc:

        θ̄ = ½(θ_L + θ_i)
        θ_i ← Π_Θ[θ̄ − Nρ/(T²σ) · (∇g(θ̄)/(2N) + w_i Q̄_i(θ̄))]
        θ_L ← Π_Θ[θ̄ − (N−1)ρ/(N T²σ) · ∇g(θ̄)]

    The model is θ_L.

    Parameters:
        rho: ρ. By default such that the step Nρ/(T²σ) lets the mean iterate contract by about 1/T
            over the horizon, as far as stability and noise allow.
        sigma: σ, the strong convexity of g. By default the ridge.

    With frequency scaling, a bloc's gradient is multiplied by (1/N)/(its frequency), so that blocs
    that talk more often do not weigh more (F Remark 4). Observed frequencies are counted with one
    meeting of every bloc in advance.

    References:
        Farokhi, Wu, Smith, Kaafar: The Cost of Privacy in Asynchronous Differentially-Private
        Machine Learning, Algorithm 1, Theorem 2, Remarks 2 and 4.
    """

    name: ClassVar[str] = "one-at-a-time"
    synchronous: ClassVar[bool] = False
    parameters: ClassVar[frozenset[str]] = frozenset({"rho", "sigma"})

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        N, T = len(brief.weights), brief.horizon
        sigma = brief.parameters.get("sigma", brief.problem.ridge)
        rho = brief.parameters.get("rho", _usual_step(brief) * T**2 * sigma / N)
        self.step_sizes = {"rho": rho}
        pace = self._pace = rho / (T**2 * sigma)
        ridge = brief.problem.ridge
        self._own_shrink = pace * ridge / 2  # N·pace · ∇g/(2N)
        self._central_shrink = pace * (N - 1) / N * ridge
        self._gradient_step = N * pace * brief.weights
        self._observe = brief.frequency_scaling == "observed"
        if brief.frequency_scaling == "declared":
            self._gradient_step = self._gradient_step / (N * brief.frequencies)
        self.model = brief.begin
        self._copies = np.repeat(self.model[None], N, axis=0)
        self._runs = None if brief.runs is None else np.arange(brief.runs)
        self._meetings = np.ones((N,) if brief.runs is None else (N, brief.runs))
        self._middle = self.model

    @classmethod
    def check(cls, problem: Problem, horizon: int) -> None:
        """Need a strongly convex regulariser."""
        if not problem.ridge > 0:
            raise TreatyError(
                f"{cls.name} needs a strongly convex regulariser and the ridge is 0: "
                "give one above 0, such as 1e-5"
            )

    @classmethod
    def questions(cls, horizon: int) -> int:
        """Return T."""
        return horizon

    def ask(self, bloc: IntArray | int) -> Question:
        """Ask for the mean gradient at θ̄, halfway between the central model and the bloc's copy."""
        self._middle = 0.5 * (self.model + self._copies[self._at(bloc)])
        return MeanGradient(self._middle)

    def tell(self, bloc: IntArray | int, answer: FloatArray) -> None:
        """Update the bloc's copy with its gradient, and the central model with inertia."""
        at, middle = self._at(bloc), self._middle
        step = self._gradient_step[bloc]
        if self._observe:
            N = len(self._copies)
            self._meetings[at] += 1
            step = step * (self.round + N) / (N * self._meetings[at])
        stepped = (1.0 - self._own_shrink) * middle - np.asarray(step)[..., None] * answer
        self._copies[at] = self.problem.project(stepped)
        self.model = self.problem.project((1.0 - self._central_shrink) * middle)
        self.round += 1

    def _at(self, bloc: IntArray | int) -> tuple[IntArray | int, ...]:
        return (bloc,) if self._runs is None else (bloc, self._runs)

    def bound(self, *, as_published: bool = False) -> Bound | None:
        """Return F Theorem 2 with the constants of its Appendix B.

        With α = ρ/T², C = Ξ_g + Ξ, ν_i = 2√2ΞT√p/(nε_i), S = 1 + N Σ (1 + ν_i/C)² and λ = 1 − 1/(2N)
        (the gossip matrix of a star; 0 for N = 1):

            E‖θ_L − θ*‖² ≤ (1 − α/N)^T (N+1)‖θ*‖² + (NC²/σ²)αS + (2N²C²√(N+1)/(σ²(1 − √λ)))α√S

        The first term is what the paper calls ς. f − f* ≤ sup‖∇f‖·‖θ − θ*‖. Of gradients that are
        scaled by how often an owner talks the theorem says nothing.
        """
        if self.brief.frequency_scaling != "off":
            return None
        n, problem, T = self.public_numbers(as_published), self.problem, self.brief.horizon
        N, sigma = len(self.brief.weights), problem.ridge
        C = n.steepest
        alpha = self._pace * sigma  # ρ/T² where the σ of the steps is that of g
        per_number = problem.dimension if as_published else 1
        nu = self.brief.weights * np.sqrt(self.brief.noises / per_number)
        gossip = 0.0 if N == 1 else 1 - 1 / (2 * N)

        def distance(noise: FloatArray) -> float:
            S = 1 + N * float(np.sum((1 + noise / C) ** 2))
            wide = 2 * N**2 * C**2 * math.sqrt(N + 1) / (sigma**2 * (1 - math.sqrt(gossip)))
            return N * C**2 / sigma**2 * alpha * S + wide * alpha * math.sqrt(S)

        left = 0.0 if as_published else (1 - min(1.0, alpha / N)) ** T * (N + 1) * n.distance**2
        without = C * math.sqrt(left + distance(0 * nu))
        return Bound("F Theorem 2", without, C * math.sqrt(left + distance(nu)) - without)


def _usual_step(brief: Brief) -> float:
    """Return a step a = Nρ/(T²σ) that moves far enough, stays stable and heeds the noise.

    A meeting moves the central model by about a/(2N) of the full gradient, so T meetings contract
    by exp(−Taμ/(2N)); a = 2N ln(T+1)/(Tμ) makes that 1/(T+1). Stability wants a·max n_i/n ≤
    1/(smoothness). Sub-gradient descent wants steps of distance/√(T·(G² + noise)), the noise of one
    bloc's answer being N times that of everybody's mean.
    """
    shape, N, T = brief.geometry, len(brief.weights), brief.horizon
    far_enough = 2 * N * math.log(T + 1) / (T * shape.strong_convexity)
    stable = shape.longest_step / float(brief.weights.max())
    steepness = math.sqrt(T * (shape.gradient**2 + N * brief.noise))
    heedful = 2 * N * shape.distance / steepness if steepness > 0 else math.inf
    return min(far_enough, stable, heedful)
