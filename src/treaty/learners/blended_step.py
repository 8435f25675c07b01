"""A few questions, from the public model on; the answers are blended with what public rows tell."""

from functools import cached_property
from typing import ClassVar

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.fitness.threads import on_one_thread
from treaty.learners.guard import Guard
from treaty.learners.learner import Brief, Learner
from treaty.learners.public_view import PublicView
from treaty.learners.secants import Secants
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
    place of H, and the model moves along A alone, θ = θ₀ + Ac: answers then tell how the loss changes
    along every way that is taken. In all other directions the model stays the public one.

    Over a horizon of T this is done T times. That H is of few public rows blurs an answer the less, the
    nearer θ is: with much noise one question is best, with little of it more. Chance in the owners'
    records and in ḡ₀ is the same in every round, so each is told T times the variance: together they
    then tell as much as one answer without other noise. From the second answer on, answers are compared:
    where they contradict H, the curvature that they show takes its place (`Secants`); where they say
    that a model is worse than one before, the step to it is taken back (`Guard`).

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
        self._asked: list[FloatArray] = []
        self._told: list[FloatArray] = []
        self._mended: list[dict[int, FloatArray]] = []
        """In every round, by run, what took the place of the blend where answers contradict H."""

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
        # On one thread: told the same, it comes to the same model however many cores there are.
        with on_one_thread():
            asked, told = np.atleast_2d(self.model), np.atleast_2d(answer)
            self._asked.append(asked)
            self._told.append(told)
            self._mended.append(self._contradicted())
            off = self._off(asked, told)
            step = off @ self._blends[0][self.round - 1].T
            for run, blend in self._mended[-1].items():
                step[run] = blend @ off[run]
            there, step = self._along_axes(asked - self.brief.begin), self._along_axes(step)
            last = self.round == self.rounds
            moved = np.array(
                [
                    guard.next(there[run], off[run], step[run], last=last)
                    for run, guard in enumerate(self._guards)
                ]
            )
        model = self.brief.begin + moved @ self._axes.T
        self.model = self.problem.project(model).reshape(self.model.shape)
        self.round += 1

    def _off(self, asked: FloatArray, told: FloatArray) -> FloatArray:
        """Return by how much answers are not what they would be if θ₀ were the best model."""
        view = self._view
        # What answers are less because they are asked elsewhere than at θ₀ is known, not learnt.
        known = (asked - self.brief.begin) @ (view.bends - view.curvature).T
        return told - (view.answer + known) @ self._axes

    def expected_gain(self, curvature: FloatArray) -> float:
        """Return by how much all steps are expected to lower the mean loss.

        Being off by d costs ½dᵀH₁d, and d has covariance Σ before, and what is left of it afterwards.

        Args:
            curvature: H₁, of the mean loss that fitness is measured with.
        """
        with on_one_thread():
            return 0.5 * float(np.sum(curvature * (self._view.covariance - self._blends[1])))

    def _contradicted(self) -> dict[int, FloatArray]:
        """Return what to blend by in this round, for runs whose answers contradict the public curvature.

        How far θ may be off is then computed once more, with the curvature that answers show, from all
        steps that were made; after a step that was taken back it is as far as at first.
        """
        found: dict[int, FloatArray] = {}
        if self.round == 1:
            return found
        for run in range(len(self._asked[0])):
            error = self._secants.contradiction(
                [each[run] for each in self._asked], [each[run] for each in self._told]
            )
            if error is None:
                continue
            bends, left = self._bends + error, self._view.covariance
            steps = zip(self._blends[0], self._mended, strict=False)
            for planned, mended in () if self._turned(run) else steps:
                used = mended.get(run, planned)
                kept = np.eye(len(left)) - used @ bends
                left = kept @ left @ kept.T + used @ self._blur(left) @ used.T
            found[run] = self._blended(left, bends)
        return found

    def _along_axes(self, ways: FloatArray) -> FloatArray:
        """Return c of the ways Ac that lie nearest to given ones: c = (AᵀH₁A)⁻¹AᵀH₁s."""
        if self.problem.axes is None:
            return ways
        return ways @ self._nearest

    @cached_property
    def _nearest(self) -> FloatArray:
        """H₁A(AᵀH₁A)⁻¹, shape (p, k); a direction in which nothing bends is left alone."""
        inverse = np.linalg.pinv(self._metric, rcond=1e-10, hermitian=True)
        return np.asarray(self._view.whole @ self._axes @ inverse, dtype=np.float64)

    def _turned(self, run: int) -> bool:
        return self._guards[run].has_turned

    @cached_property
    def _guards(self) -> list[Guard]:
        """One for every run."""
        noise = self.brief.noise / len(self._axes.T)
        return [Guard(noise, self._metric) for _ in np.atleast_2d(self.model)]

    @cached_property
    def _metric(self) -> FloatArray:
        """AᵀH₁A, in which the length of a way along the axes is taken."""
        return self._axes.T @ self._view.whole @ self._axes

    @cached_property
    def _secants(self) -> Secants:
        known_from = self.brief.parameters.get("public_owners")
        return Secants(self._view, self._axes, self.brief.noise / len(self._axes.T), known_from)

    @property
    def _view(self) -> PublicView:
        assert self.brief.public is not None
        return self.brief.public

    @cached_property
    def _axes(self) -> FloatArray:
        axes = self.problem.axes
        return np.eye(self.problem.dimension) if axes is None else axes

    @cached_property
    def _bends(self) -> FloatArray:
        return self._axes.T @ self._view.curvature

    @cached_property
    def _blends(self) -> tuple[list[FloatArray], FloatArray]:
        """ΣHᵀ(HΣHᵀ + V)⁻¹ of every round, shapes (p, p) or (p, k), and what is left of Σ at the end."""
        left = self._view.covariance
        blends: list[FloatArray] = []
        for _ in range(self.brief.horizon):
            blend = self._blended(left, self._bends)
            left = left - blend @ (left @ self._bends.T).T
            left = 0.5 * (left + left.T)
            blends.append(blend)
        return blends, left

    def _blended(self, left: FloatArray, bends: FloatArray) -> FloatArray:
        """Return ΣHᵀ(HΣHᵀ + V)⁻¹."""
        through = left @ bends.T
        total = bends @ through + self._blur(left)
        total += 1e-12 * float(np.trace(total)) / len(total) * np.eye(len(total))
        return np.asarray(np.linalg.solve(total, through.T).T, dtype=np.float64)

    def _blur(self, left: FloatArray) -> FloatArray:
        """Return V."""
        bending = self._view.bending(left, self.brief.parameters.get("public_owners"))
        return self._lasting + self._axes.T @ bending @ self._axes

    @cached_property
    def _lasting(self) -> FloatArray:
        """What of V is the same in every round."""
        brief, view, axes = self.brief, self._view, self._axes
        length = axes.shape[1]
        chance = view.scatter / brief.records + view.doubt
        return brief.noise / length * np.eye(length) + brief.horizon * (axes.T @ chance @ axes)
