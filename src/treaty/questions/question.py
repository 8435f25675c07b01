"""What a question is: how long its answer is, the exact answer, and how far one record can move it."""

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness import Moments, Problem, Risk
from treaty.fitness.summation import additions
from treaty.losses import Norm

UNIT_ROUNDOFF = float(np.finfo(float).eps) / 2
"""The largest relative error of one operation on doubles, 2⁻⁵³."""


class Records(Protocol):
    """What an exact answer is computed from: a risk or, in simulations, one for every run."""

    def value(self, theta: FloatArray) -> FloatArray:
        """Return the mean loss at each θ."""
        ...

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the mean (sub)gradient at each θ."""
        ...

    def gradient_along(self, theta: FloatArray, axes: FloatArray) -> FloatArray:
        """Return the mean gradient at each θ along axes, shape (p, k)."""
        ...

    @property
    def moments(self) -> Moments:
        """XᵀX/n, Xᵀy/n and yᵀy/n."""
        ...


class Question(ABC):
    """A question about an owner's records, put at a θ or at nothing.

    The answer is the mean, over the owner's records, of one vector a record. How far it moves when one
    record is replaced is a property of the kind of question, never of θ: noise is fixed before anybody
    asks.

    Args:
        theta: the θ it is put at, shape (p,) or, for many runs at once, (runs, p). Empty for a question
            that is not about a model.
    """

    name: ClassVar[str]

    def __init__(self, theta: FloatArray | None = None) -> None:
        self.theta = np.zeros(0) if theta is None else theta

    @classmethod
    @abstractmethod
    def arguments(cls, problem: Problem) -> int:
        """Return how many numbers it is put at: p, or 0."""

    @classmethod
    @abstractmethod
    def length(cls, problem: Problem) -> int:
        """Return how many numbers an answer has."""

    @classmethod
    @abstractmethod
    def largest(cls, problem: Problem, norm: Norm) -> float:
        """Return the largest norm that one record's vector, and so an exact answer, can have."""

    @classmethod
    @abstractmethod
    def distance(cls, problem: Problem, norm: Norm) -> float:
        """Return how far apart the vectors of two records can lie, at one θ in Θ."""

    @classmethod
    def roundings(cls, problem: Problem) -> int:
        """Return how many operations, each rounded, make one record's vector at most."""
        return 8

    @classmethod
    @abstractmethod
    def words(cls, problem: Problem) -> str:
        """Say what is asked for, to the person who decides about it."""

    @abstractmethod
    def exact(self, records: Records, problem: Problem) -> FloatArray:
        """Return the exact answer of some records, shape (length,) or (runs, length)."""

    @classmethod
    def guarded(cls, risk: Risk, problem: Problem, norm: Norm) -> Risk:
        """Return the risk that `exact` is computed on; override it to hold records to `largest`."""
        return risk.with_loss(problem.loss)

    @classmethod
    def sensitivity(cls, problem: Problem, records: int, norm: Norm) -> float:
        """Return how far replacing one of n records can move an answer, floating point included.

            Δ = D/n + 2γL,    γ = (a(n) + r)·u

        D is `distance`, L is `largest`. The computed mean differs from the exact one by at most γL for
        either dataset: a sum over n rows takes a(n) additions in a row (`treaty.fitness.summation`), a
        record's vector r operations, with a rounding of u = 2⁻⁵³ each. Without the second term the
        stated ε would be a statement about real numbers, not about the program (Casacuberta et al.
        2022, "Widespread Underestimation of Sensitivity").

        Args:
            problem: what is learnt: the public domain and Θ.
            records: n.
            norm: in which norm.
        """
        if records < 1:
            raise TreatyError("an owner without records has no mean to give")
        rounding = (additions(records) + cls.roundings(problem)) * UNIT_ROUNDOFF
        moved = cls.distance(problem, norm) / records
        return moved + 2.0 * rounding * cls.largest(problem, norm)
