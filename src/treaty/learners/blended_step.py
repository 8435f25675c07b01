"""One question at the public model; the answers are blended with what public rows tell."""

from typing import ClassVar

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.fitness.threads import on_one_thread
from treaty.learners.learner import Brief, Learner
from treaty.questions import MeanGradient, Question


class BlendedStep(Learner):
    """Everybody is asked once, at the public model θ₀; then one step, as long as the answer deserves.

        θ = Π_Θ[θ₀ − ΣH(HΣH + V)⁻¹(ḡ − ḡ₀)]

    ḡ is the owners' mean answer, and ḡ₀ what it would be if θ₀ were the best model (0, but for what
    clipping does to the public rows' own gradients): their difference is H(θ₀ − θ*). Σ is how far θ₀ may
    be off by chance, V the variance of what blurs the answer: the noise for privacy, chance in the
    owners' records, and that H and ḡ₀ are those of few public rows. So this is the best linear estimate
    of θ* from public and private evidence (a Kalman filter of one step, a Wiener filter along the
    eigen-directions of H): with little noise a whole Newton step, with too much of it the public model.
    All of it is post-processing of one noised answer each.

    For any loss, with public rows at hand.

    References:
        Kalman: A New Approach to Linear Filtering and Prediction Problems, 1960.
    """

    name: ClassVar[str] = "blended-step"
    synchronous: ClassVar[bool] = True
    needs_public_rows: ClassVar[bool] = True
    needs_everybody: ClassVar[bool] = True  # the blend is made for the noise of everybody's mean

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        self.model = brief.begin

    @classmethod
    def check(cls, problem: Problem, horizon: int) -> None:
        """Need a horizon of 1."""
        if horizon != 1:
            raise TreatyError(f"{cls.name} asks once: its horizon is 1, not {horizon:,}")

    @classmethod
    def questions(cls, horizon: int) -> int:
        """Return 1."""
        return 1

    def ask(self, bloc: IntArray | int) -> Question:
        """Ask for the mean gradient at the public model."""
        return MeanGradient(self.model)

    def tell(self, bloc: IntArray | int, answer: FloatArray) -> None:
        """Step as far as public and private evidence agree on."""
        view = self.brief.public
        assert view is not None
        # On one thread: told the same, it comes to the same model however many cores there are.
        with on_one_thread():
            step = (answer - view.answer) @ self._blend().T
        self.model = self.problem.project(self.model - step)
        self.round += 1

    def expected_gain(self, curvature: FloatArray) -> float:
        """Return by how much the step is expected to lower the mean loss.

        What is left of Σ after the step is Σ − BHΣ, with B = ΣH(HΣH + V)⁻¹, and being off by d costs
        ½dᵀH₁d.

        Args:
            curvature: H₁, of the mean loss that fitness is measured with.
        """
        view = self.brief.public
        assert view is not None
        learnt = self._blend() @ view.curvature @ view.covariance
        return 0.5 * float(np.sum(curvature * learnt.T))

    def _blend(self) -> FloatArray:
        """Return ΣH(HΣH + V)⁻¹, shape (p, p)."""
        view, brief = self.brief.public, self.brief
        assert view is not None
        p = len(view.curvature)
        through = view.covariance @ view.curvature
        blur = brief.noise / p * np.eye(p) + view.scatter / brief.records + view.doubt
        total = view.curvature @ through + blur
        total += 1e-12 * float(np.trace(total)) / p * np.eye(p)
        return np.asarray(np.linalg.solve(total, through.T).T, dtype=np.float64)
