"""What a learner is: a small state machine that asks, is told, and holds a model. No I/O."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.learners.bound import Bound, PublicNumbers
from treaty.learners.geometry import Geometry
from treaty.learners.public_view import PublicView
from treaty.questions import MeanGradient, Question

FrequencyScaling = Literal["off", "declared", "observed"]


@dataclass(frozen=True, eq=False)
class Brief:
    """All that a learner is given at the start, every bit of it public. A plan writes it.

    Args:
        problem: what is learnt.
        horizon: T.
        parameters: the method's own numbers; what is missing is derived from the geometry.
        geometry: the shape of the problem.
        weights: the weight of each bloc; they sum to 1.
        noises: E‖w‖² of the noise in each bloc's answer.
        frequencies: how often each bloc talks, as shares that sum to 1.
        frequency_scaling: whether to divide by them.
        start: where to begin, inside Θ; shape (p,), or (runs, p) for a start of its own each.
        records: n, everybody's records.
        public: what public rows tell about answers at the start, for learners that need it.
        runs: how many runs are learnt at once, as a leading axis; None for one run without it.
    """

    problem: Problem
    horizon: int
    parameters: Mapping[str, float]
    geometry: Geometry
    weights: FloatArray
    noises: FloatArray
    frequencies: FloatArray
    frequency_scaling: FrequencyScaling
    start: FloatArray
    records: int
    public: PublicView | None = None
    runs: int | None = None

    @property
    def begin(self) -> FloatArray:
        """The start, repeated for every run."""
        if self.runs is None or self.start.ndim == 2:
            return self.start.copy()
        return np.tile(self.start, (self.runs, 1))

    @cached_property
    def noise(self) -> float:
        """E‖w‖² of the noise in the weighted mean of all blocs' answers."""
        return float(self.weights**2 @ self.noises)


class Learner(ABC):
    """Asks blocs of owners questions and turns the answers into a model.

    `ask(bloc)` gives the question to put to that bloc, `tell(bloc, answer)` takes the bloc's mean
    answer. With a run axis, `bloc` is an array with one bloc for every run, and θ and answers have shape
    (runs, …). A synchronous learner knows one bloc, number 0, which is everybody.

    The same object serves one run in a process, ten thousand simulated runs, and a federation.
    """

    name: ClassVar[str]
    synchronous: ClassVar[bool]
    parameters: ClassVar[frozenset[str]] = frozenset()
    """The names of its own numbers."""
    asks: ClassVar[type[Question]] = MeanGradient
    """The kind of question it asks."""
    needs_public_rows: ClassVar[bool] = False
    """Whether it has to begin at a model of public rows, and to know what else they tell."""

    along_axes: ClassVar[bool] = False
    """Whether it can do with gradients along a few axes."""

    needs_everybody: ClassVar[bool] = False
    """Whether what it does with an answer is right only if everybody has answered: no quorum."""

    round: int
    """k, the number of the next question, from 1."""
    rounds: int
    """How many questions it asks in all."""
    model: FloatArray
    """The model so far, shape (p,) or (runs, p)."""

    def __init__(self, brief: Brief) -> None:
        self.check(brief.problem, brief.horizon)
        self.check_axes(brief.problem)
        unknown = set(brief.parameters) - self.parameters
        if unknown:
            takes = ", ".join(sorted(self.parameters)) or "none"
            raise TreatyError(
                f"{self.name} has no parameter {', '.join(sorted(unknown))}; it takes {takes}"
            )
        for key, value in brief.parameters.items():
            if not value > 0:
                raise TreatyError(f"{self.name}'s {key} must be positive, not {value}")
        if self.needs_public_rows and brief.public is None:
            raise TreatyError(
                f'training.start: {self.name} begins at a model of public rows: set start = "public" or '
                '"tuned", and give public rows with `public`'
            )
        self.brief = brief
        self.problem = brief.problem
        self.round = 1
        self.rounds = self.questions(brief.horizon)
        self.step_sizes: dict[str, float] = {}
        """The step sizes it uses, given or derived."""

    @classmethod
    @abstractmethod
    def check(cls, problem: Problem, horizon: int) -> None:
        """Say what this learner needs of the loss, the regulariser and T, if it is missing."""

    @classmethod
    def check_axes(cls, problem: Problem) -> None:
        """Refuse answers along a few axes unless this learner can do with them."""
        if problem.axes is not None and not cls.along_axes:
            raise TreatyError(
                f"training.axes: {cls.name} needs whole gradients: leave axes out; blended-step can do "
                "with a few axes"
            )

    @classmethod
    @abstractmethod
    def questions(cls, horizon: int) -> int:
        """Return how many questions it asks over a horizon of T."""

    @abstractmethod
    def ask(self, bloc: IntArray | int) -> Question:
        """Return the question to put to the bloc."""

    @abstractmethod
    def tell(self, bloc: IntArray | int, answer: FloatArray) -> None:
        """Take the bloc's mean answer to the last question, and move on to the next round."""

    def bound(self, *, as_published: bool = False) -> Bound | None:
        """Return an upper bound of E f(θ) − f(θ*) for a start at θ = 0, or None without a theorem.

        Args:
            as_published: without the dimension, as the papers print it.
        """
        return None

    def public_numbers(self, as_published: bool) -> PublicNumbers:
        """Return the numbers that the papers' theorems are made of."""
        return PublicNumbers.of(self.problem, self.brief.noise, as_published)

    @property
    def finished(self) -> bool:
        """Whether it has asked all its questions."""
        return self.round > self.rounds
