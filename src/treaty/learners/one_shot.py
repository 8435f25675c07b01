"""One question for all: the moments, with noise, and then no more questions."""

import math
from typing import ClassVar

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.fitness.risk import has_moments
from treaty.fitness.solver import lowest_in_box
from treaty.fitness.threads import on_one_thread
from treaty.learners.learner import Brief, Learner
from treaty.questions import Question, SecondMoments
from treaty.questions.second_moments import unpacked


class OneShot(Learner):
    """Everybody is asked once for A = XᵀX/n and b = Xᵀy/n; the model minimises the noised f inside Θ.

        θ = argmin over Θ of θᵀ(A + rI)θ − 2bᵀθ + (λ/2)‖θ‖²,   r = max(0, √(2pv) − λ/2 − least(A))

    with v the variance of the noise on a number on A's diagonal and half of that on one off it. √(2pv)
    is the spectral norm that such noise has typically (Wigner's semicircle), and least(A) the least
    eigenvalue of the noised A: so the least eigenvalue of what is solved is never below the noise's own
    size. This is AdaSSP's rule, except that it spends a third of the budget on the least eigenvalue,
    which the noised A tells for nothing, and takes a bound of the spectral norm that fails hardly ever,
    which shrinks θ more than is worth it.

    For squared loss. Every later question about it is answered by A and b for nothing: `gradient`.

    References:
        Wang: Revisiting Differentially Private Linear Regression: Optimal and Adaptive Prediction and
        Estimation in Unbounded Domain, UAI 2018.
    """

    name: ClassVar[str] = "one-shot"
    synchronous: ClassVar[bool] = True
    asks: ClassVar[type[Question]] = SecondMoments
    needs_everybody: ClassVar[bool] = True  # the ridge is made for the noise of everybody's mean

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        self.model = brief.begin
        self._xx: FloatArray | None = None
        self._xy: FloatArray | None = None

    @classmethod
    def check(cls, problem: Problem, horizon: int) -> None:
        """Need plain squared loss, a finite Θ, and a horizon of 1."""
        if not has_moments(problem.loss):
            clipped = "clipped " if problem.loss is not problem.fitness_loss else ""
            raise TreatyError(
                f"{cls.name} needs squared loss without a clip: XᵀX and Xᵀy do not determine the "
                f"gradients of the {clipped}{problem.fitness_loss.name} loss"
            )
        if math.isinf(problem.theta_max):
            raise TreatyError(f"{cls.name} solves inside Θ: give a finite theta_max")
        if horizon != 1:
            raise TreatyError(f"{cls.name} asks once: its horizon is 1, not {horizon:,}")

    @classmethod
    def questions(cls, horizon: int) -> int:
        """Return 1."""
        return 1

    def ask(self, bloc: IntArray | int) -> Question:
        """Ask for the moments."""
        return SecondMoments()

    def tell(self, bloc: IntArray | int, answer: FloatArray) -> None:
        """Solve inside Θ; with a run axis, for every run."""
        problem, p = self.problem, self.problem.dimension
        xx, xy = unpacked(answer, problem)
        each = self.brief.noise / SecondMoments.length(problem)
        half_ridge = 0.5 * problem.ridge
        with on_one_thread():
            least = np.linalg.eigvalsh(xx)[..., 0]
        ridge = np.maximum(0.0, math.sqrt(2 * p * each) - half_ridge - least) + half_ridge
        solved = xx + np.asarray(ridge)[..., None, None] * np.eye(p)
        begin, many = np.zeros(p), xx.ndim == 3
        # On one thread: told the same, it comes to the same model however many cores there are.
        with on_one_thread():
            models = [
                lowest_in_box(2.0 * one, -2.0 * b, begin, problem.theta_max)
                for one, b in zip(solved.reshape(-1, p, p), xy.reshape(-1, p), strict=True)
            ]
        if self.brief.runs is None or many:
            self.model = np.array(models).reshape(xy.shape)
        else:
            self.model = np.tile(models[0], (self.brief.runs, 1))
        self._xx, self._xy = xx, xy
        self.round += 1

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the noised mean gradient 2(Aθ − b) at any θ, which costs nothing any more."""
        if self._xx is None or self._xy is None:
            raise TreatyError(f"{self.name} has not been told any moments yet")
        return 2.0 * (np.einsum("...ij,...j->...i", self._xx, theta) - self._xy)
