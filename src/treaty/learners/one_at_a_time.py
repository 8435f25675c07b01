"""Asynchronous learning, one owner at a time (F, Algorithm 1)."""

import math
from typing import ClassVar

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.learners.learner import Learner, Setting


class OneAtATime(Learner):
    """At every step k = 1..T the learner talks to one of N blocs, whoever's clock ticks first.

    It keeps a central model θ_L and one copy θ_i for every bloc:

        θ̄ = ½(θ_L + θ_i)
        θ_i ← Π_Θ[θ̄ − Nρ/(T²σ) · (∇g(θ̄)/(2N) + (n_i/n) Q̄_i(θ̄))]
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

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        N, T = len(setting.weights), setting.horizon
        sigma = setting.parameters.get("sigma", setting.problem.ridge)
        self.rho = setting.parameters.get("rho", _usual_step(setting) * T**2 * sigma / N)
        self.rounds = self.questions(T)
        pace = self.rho / (T**2 * sigma)
        ridge = setting.problem.ridge
        self._own_shrink = pace * ridge / 2  # N·pace · ∇g/(2N)
        self._central_shrink = pace * (N - 1) / N * ridge
        self._gradient_step = N * pace * setting.weights
        self._observe = setting.frequency_scaling == "observed"
        if setting.frequency_scaling == "declared":
            self._gradient_step = self._gradient_step / (N * setting.frequencies)
        self.model = setting.begin
        self._copies = np.repeat(self.model[None], N, axis=0)
        self._runs = None if setting.runs is None else np.arange(setting.runs)
        self._meetings = np.ones((N,) if setting.runs is None else (N, setting.runs))
        self._middle = self.model

    @classmethod
    def check(cls, problem: Problem) -> None:
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

    def ask(self, bloc: IntArray | int) -> FloatArray:
        """Return θ̄, halfway between the central model and the bloc's copy."""
        self._middle = 0.5 * (self.model + self._copies[self._at(bloc)])
        return self._middle

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


def _usual_step(setting: Setting) -> float:
    """Return a step a = Nρ/(T²σ) that moves far enough, stays stable and heeds the noise.

    A meeting moves the central model by about a/(2N) of the full gradient, so T meetings contract
    by exp(−Taμ/(2N)); a = 2N ln(T+1)/(Tμ) makes that 1/(T+1). Stability wants a·max n_i/n ≤
    1/(smoothness). Sub-gradient descent wants steps of distance/√(T·(G² + noise)), the noise of one
    bloc's answer being N times that of everybody's mean.
    """
    shape, N, T = setting.geometry, len(setting.weights), setting.horizon
    far_enough = 2 * N * math.log(T + 1) / (T * shape.strong_convexity)
    stable = shape.longest_step / float(setting.weights.max())
    steepness = math.sqrt(T * (shape.gradient**2 + N * setting.noise))
    heedful = 2 * N * shape.distance / steepness if steepness > 0 else math.inf
    return min(far_enough, stable, heedful)
