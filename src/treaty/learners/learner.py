"""What a learner is: a small state machine that asks, is told, and holds a model. No I/O."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.learners.geometry import Geometry
from treaty.learners.plan import FrequencyScaling


@dataclass(frozen=True, eq=False)
class Setting:
    """All that a learner is given at the start, every bit of it public.

    Args:
        problem: what is learnt.
        horizon: T.
        parameters: the method's own numbers; what is missing is derived from the geometry.
        geometry: the shape of the problem.
        weights: the weight of each bloc; they sum to 1.
        frequencies: how often each bloc talks, as shares that sum to 1.
        frequency_scaling: whether to divide by them.
        noise: E‖w‖² of the noise in the weighted mean of all blocs' answers.
        start: where to begin, inside Θ; shape (p,), or (runs, p) for a start of its own each.
        runs: how many runs are learnt at once, as a leading axis; None for one run without it.
    """

    problem: Problem
    horizon: int
    parameters: Mapping[str, float]
    geometry: Geometry
    weights: FloatArray
    frequencies: FloatArray
    frequency_scaling: FrequencyScaling
    noise: float
    start: FloatArray
    runs: int | None = None

    @property
    def begin(self) -> FloatArray:
        """The start, repeated for every run."""
        if self.runs is None or self.start.ndim == 2:
            return self.start.copy()
        return np.tile(self.start, (self.runs, 1))


class Learner(ABC):
    """Asks blocs of owners for gradients and turns the answers into a model.

    `ask(bloc)` gives the θ to put to that bloc, `tell(bloc, answer)` takes the bloc's mean answer.
    With a run axis, `bloc` is an array with one bloc for every run, and θ and answers have shape
    (runs, p). A synchronous learner knows one bloc, number 0, which is everybody.

    The same object serves one run in a process, ten thousand simulated runs, and a federation.
    """

    name: ClassVar[str]
    synchronous: ClassVar[bool]
    parameters: ClassVar[frozenset[str]]
    """The names of its own numbers."""

    round: int
    """k, the number of the next question, from 1."""
    rounds: int
    """How many questions it asks in all."""
    model: FloatArray
    """The model so far, shape (p,) or (runs, p)."""

    def __init__(self, setting: Setting) -> None:
        self.check(setting.problem)
        unknown = set(setting.parameters) - self.parameters
        if unknown:
            takes = ", ".join(sorted(self.parameters))
            raise TreatyError(
                f"{self.name} has no parameter {', '.join(sorted(unknown))}; it takes {takes}"
            )
        for key, value in setting.parameters.items():
            if not value > 0:
                raise TreatyError(f"{self.name}'s {key} must be positive, not {value}")
        self.problem = setting.problem
        self.round = 1

    @classmethod
    @abstractmethod
    def check(cls, problem: Problem) -> None:
        """Say what this learner needs of the loss and the regulariser, if it is missing."""

    @classmethod
    @abstractmethod
    def questions(cls, horizon: int) -> int:
        """Return how many questions it asks over a horizon of T."""

    @abstractmethod
    def ask(self, bloc: IntArray | int) -> FloatArray:
        """Return the θ at which to ask the bloc."""

    @abstractmethod
    def tell(self, bloc: IntArray | int, answer: FloatArray) -> None:
        """Take the bloc's mean answer to the last question, and move on to the next round."""

    @property
    def step_sizes(self) -> dict[str, float]:
        """The step sizes it uses, given or derived."""
        own = vars(self)
        return {name: float(own[name]) for name in sorted(self.parameters) if name in own}

    @property
    def finished(self) -> bool:
        """Whether it has asked all its questions."""
        return self.round > self.rounds
