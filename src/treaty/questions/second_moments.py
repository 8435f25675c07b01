"""The moments XᵀX and Xᵀy: asked once, they answer every later question about squared loss."""

import math
from typing import ClassVar

import numpy as np

from treaty.arrays import FloatArray
from treaty.fitness import Problem
from treaty.losses import Norm
from treaty.questions.question import Question, Records

ROOT_TWO = math.sqrt(2.0)


class SecondMoments(Question):
    """A = (1/n) Σ xxᵀ and b = (1/n) Σ xy, as one vector.

    One record's vector v is the upper triangle of xxᵀ, what is off the diagonal times √2, and then c·xy.
    So ‖xxᵀ part‖₂ = ‖x‖₂², and each of the equal two halves of the matrix has half the noise variance.
    With |x|₁ ≤ B₁, |x|₂ ≤ B₂ and |y| ≤ Y on the public domain, c = B₂/Y makes both parts equally large.

    In ℓ₂, with s = ‖x‖², s′ = ‖x′‖² and t = xᵀx′ of two records,

        ‖v − v′‖² = s² + s′² − 2t² + c²(y²s + y′²s′ − 2yy′t),   |t| ≤ √(ss′),

    which is largest for s = s′ = B₂², y = −y′ = ±Y and t = c²Y²/2: D₂ = (2B₂² + c²Y²)/√2 = (3/√2)B₂².
    In ℓ₁, ‖v‖₁ = (1 − 1/√2)‖x‖₂² + ‖x‖₁²/√2 + c|y|‖x‖₁, and D₁ is twice its supremum.

    References:
        Wang: Revisiting Differentially Private Linear Regression (AdaSSP), UAI 2018, for the use of it.
    """

    name: ClassVar[str] = "moments"

    @classmethod
    def arguments(cls, problem: Problem) -> int:
        """Return 0: it is not about a model."""
        return 0

    @classmethod
    def length(cls, problem: Problem) -> int:
        """Return p(p + 1)/2 + p."""
        p = problem.dimension
        return p * (p + 1) // 2 + p

    @classmethod
    def largest(cls, problem: Problem, norm: Norm) -> float:
        """Return sup ‖v‖."""
        domain, c = problem.domain, target_weight(problem)
        y = _largest_target(problem)
        if norm == "l2":
            return math.hypot(domain.l2**2, c * y * domain.l2)
        squares = (1 - 1 / ROOT_TWO) * domain.l2**2 + domain.l1**2 / ROOT_TWO
        return squares + c * y * domain.l1

    @classmethod
    def distance(cls, problem: Problem, norm: Norm) -> float:
        """Return sup ‖v − v′‖: (2B₂² + c²Y²)/√2 in ℓ₂, twice sup ‖v‖ in ℓ₁."""
        if norm == "l1":
            return 2.0 * cls.largest(problem, norm)
        cy = target_weight(problem) * _largest_target(problem)
        return (2.0 * problem.domain.l2**2 + cy**2) / ROOT_TWO

    @classmethod
    def words(cls, problem: Problem) -> str:
        """Say what is asked for."""
        return "the means of all products of two of a record's numbers (XᵀX and Xᵀy)"

    def exact(self, records: Records, problem: Problem) -> FloatArray:
        """Return A's triangle and c·b."""
        moments, (row, column) = records.moments, np.triu_indices(problem.dimension)
        triangle = moments.xx[..., row, column] * np.where(row == column, 1.0, ROOT_TWO)
        return np.concatenate([triangle, target_weight(problem) * moments.xy], axis=-1)


def unpacked(answer: FloatArray, problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Return A and b from (mean) answers, shape (…, length): shapes (…, p, p) and (…, p)."""
    p = problem.dimension
    row, column = np.triu_indices(p)
    triangle = answer[..., : len(row)] / np.where(row == column, 1.0, ROOT_TWO)
    xx = np.zeros((*answer.shape[:-1], p, p))
    xx[..., row, column] = triangle
    xx[..., column, row] = triangle
    return xx, answer[..., len(row) :] / target_weight(problem)


def target_weight(problem: Problem) -> float:
    """Return c = B₂/Y."""
    return problem.domain.l2 / _largest_target(problem)


def _largest_target(problem: Problem) -> float:
    return max(abs(end) for end in problem.domain.target)
