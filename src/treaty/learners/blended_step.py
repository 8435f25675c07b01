"""A few questions, from the public model on; the answers are blended with what public rows tell."""

from functools import cached_property
from typing import ClassVar

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.fitness.threads import on_one_thread
from treaty.learners.learner import Brief, Learner
from treaty.questions import MeanGradient, Question

MOST_ROUNDS = 100
"""Each round costs a matrix of p × p, and the noise of all of them grows with their number."""


class BlendedStep(Learner):
    """Everybody is asked at the public model θ₀; then one step, as long as the answer deserves.

        θ ← Π_Θ[θ − ΣHᵀ(HΣHᵀ + V)⁻¹(ḡ − ḡ₀)],   Σ ← Σ − ΣHᵀ(HΣHᵀ + V)⁻¹HΣ

    ḡ is the owners' mean answer, and ḡ₀ what it would be if θ were the best model (0, but for what
    clipping does to the public rows' own gradients): their difference is H(θ − θ*). Σ is how far θ may
    be off by chance, V the variance of what blurs the answer: the noise for privacy, chance in the
    owners' records, and that H and ḡ₀ are those of few public rows. So this is the best linear estimate
    of θ* from public and private evidence (a Kalman filter, along the eigen-directions of H a Wiener
    filter): with little noise a whole Newton step, with too much of it the public model. All of it is
    post-processing of noised answers.

    Along axes A owners give Aᵀḡ, k numbers instead of p, with less noise in each. AᵀH then takes the
    place of H; in all other directions the model stays the public one.

    Over a horizon of T this is done T times. That H is of few public rows blurs an answer the less, the
    nearer θ is: with much noise one question is best, with little of it more. Chance in the owners'
    records and in ḡ₀ is the same in every round, so each is told T times the variance: together they
    then tell as much as one answer without other noise.

    For any loss, with public rows at hand.

    Parameters:
        public_owners: of how many owners the public rows are, if these are few and not like the others.
            The curvature is then known from so many rows and no more: a column that is all but constant
            in them may matter elsewhere, and no long step is taken on their word.

    References:
        Kalman: A New Approach to Linear Filtering and Prediction Problems, 1960.
    """

    name: ClassVar[str] = "blended-step"
    synchronous: ClassVar[bool] = True
    parameters: ClassVar[frozenset[str]] = frozenset({"public_owners"})
    needs_public_rows: ClassVar[bool] = True
    along_axes: ClassVar[bool] = True
    needs_everybody: ClassVar[bool] = True  # the blend is made for the noise of everybody's mean

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        self.model = brief.begin

    @classmethod
    def check(cls, problem: Problem, horizon: int) -> None:
        """Need a short horizon."""
        if horizon > MOST_ROUNDS:
            raise TreatyError(
                f"{cls.name} asks a few times: its horizon is at most {MOST_ROUNDS}, not {horizon:,}"
            )

    @classmethod
    def questions(cls, horizon: int) -> int:
        """Return T."""
        return horizon

    def ask(self, bloc: IntArray | int) -> Question:
        """Ask for the mean gradient at the model so far."""
        return MeanGradient(self.model)

    def tell(self, bloc: IntArray | int, answer: FloatArray) -> None:
        """Step as far as public and private evidence agree on."""
        view = self.brief.public
        assert view is not None
        # On one thread: told the same, it comes to the same model however many cores there are.
        with on_one_thread():
            # What answers are less because they are asked elsewhere than at θ₀ is known, not learnt.
            known = (self.model - self.brief.begin) @ (view.bends - view.curvature).T
            usual = view.answer + known
            if self.problem.axes is not None:
                usual = usual @ self.problem.axes
            step = (answer - usual) @ self._blends[0][self.round - 1].T
        self.model = self.problem.project(self.model - step)
        self.round += 1

    def expected_gain(self, curvature: FloatArray) -> float:
        """Return by how much all steps are expected to lower the mean loss.

        Being off by d costs ½dᵀH₁d, and d has covariance Σ before, and what is left of it afterwards.

        Args:
            curvature: H₁, of the mean loss that fitness is measured with.
        """
        view = self.brief.public
        assert view is not None
        with on_one_thread():
            return 0.5 * float(np.sum(curvature * (view.covariance - self._blends[1])))

    @cached_property
    def _blends(self) -> tuple[list[FloatArray], FloatArray]:
        """ΣHᵀ(HΣHᵀ + V)⁻¹ of every round, shapes (p, p) or (p, k), and what is left of Σ at the end."""
        view, brief = self.brief.public, self.brief
        assert view is not None
        bends, left = view.curvature, view.covariance
        axes = np.eye(len(bends)) if self.problem.axes is None else self.problem.axes
        bends, length = axes.T @ bends, axes.shape[1]
        chance = view.scatter / brief.records + view.doubt
        lasting = brief.noise / length * np.eye(length) + brief.horizon * (axes.T @ chance @ axes)
        blends: list[FloatArray] = []
        for _ in range(brief.horizon):
            through = left @ bends.T
            bending = view.bending(left, brief.parameters.get("public_owners"))
            total = bends @ through + lasting + axes.T @ bending @ axes
            total += 1e-12 * float(np.trace(total)) / length * np.eye(length)
            blend = np.asarray(np.linalg.solve(total, through.T).T, dtype=np.float64)
            left = left - blend @ through.T
            left = 0.5 * (left + left.T)
            blends.append(blend)
        return blends, left
