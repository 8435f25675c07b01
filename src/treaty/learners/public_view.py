"""What public rows tell a learner about the answers it is going to get."""

from dataclasses import dataclass

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness import Problem, Risk, RowRisk, curvature_of
from treaty.fitness.curvature import smoothed
from treaty.matrices import dense

MOST_FITTED = 0.9
"""A model of m rows is taken to have used up at most this share of them."""


@dataclass(frozen=True, eq=False)
class PublicView:
    """What is known, before anybody answers, about a mean gradient at the public model θ₀.

    Args:
        covariance: of θ* − θ₀, since θ₀ was found on few rows, shape (p, p).
        curvature: by how much the gradient of f at θ₀, as owners answer it, moves with θ₀ − θ*, shape
            (p, p).
        scatter: the covariance of one record's clipped gradient at θ₀, shape (p, p).
        answer: what owners would answer at θ₀ if it were the best model: where gradients are clipped,
            by how much that moves the public rows' own mean gradient.
        doubt: the covariance of the error in that: what clipping does is known from m rows only.
        whole: the curvature of the mean loss that fitness is measured with, shape (p, p).
        rows: m.
    """

    covariance: FloatArray
    curvature: FloatArray
    scatter: FloatArray
    answer: FloatArray
    doubt: FloatArray
    whole: FloatArray
    rows: int

    def bending(self, covariance: FloatArray, known_from: float | None = None) -> FloatArray:
        """Return the covariance of the error in H(θ − θ*), since H is known from m rows only.

        H is a mean over m rows of matrices h: the covariance of (h − H)(θ − θ*) is about tr(HΣ)·H,
        whether or not a row is clipped. In any direction it is taken to be as large as one row's worth.

        Args:
            covariance: Σ, of θ − θ*.
            known_from: from how many rows, if these tell less than their number says: rows of the same
                owner are alike.
        """
        size = float(np.trace(self.whole)) / len(self.whole)
        wide = self.whole + size * np.eye(len(self.whole))
        return float(np.sum(self.whole * covariance)) / (known_from or self.rows) * wide


def view_of(
    problem: Problem, public: Risk, theta: FloatArray, pull: FloatArray, rows: int | None = None
) -> PublicView:
    """Return what public rows tell about answers at θ₀.

    A model that minimises the mean loss and ½(θ − a)ᵀK(θ − a) over m rows lies about the optimum with
    covariance (c/m)(H + K)⁻¹(H + K − λI)(H + K)⁻¹, where the covariance of one record's gradient is
    about c times the curvature H. λ is the problem's own ridge, which the optimum has as well; what K
    is beyond it stands for what was believed before. c is raised for what the model has fitted already:
    (1 − k/m)⁻² with k = tr((H + K)⁻¹H), as generalised cross-validation does.

    Args:
        problem: what is learnt; its loss is the clipped one that owners answer with.
        public: the rows, under the loss that fitness is measured with.
        theta: θ₀, a model of these rows.
        pull: K, the ridge it was found with.
        rows: m, if there are to be more or fewer rows than these.
    """
    m = public.n if rows is None else rows
    curvature = curvature_of(problem, public, theta)
    size = float(np.trace(curvature)) / len(curvature)
    # In a direction that no public row has, as much is known as one row would tell.
    one_row = size / m * np.eye(len(curvature))
    inverse = np.linalg.inv(curvature + pull + one_row)
    mean = public.gradient(theta)
    scatter = public.gradient_covariance(theta) - np.outer(mean, mean)
    used = float(np.trace(inverse @ curvature))
    ratio = float(np.trace(inverse @ scatter)) / used
    ratio /= (1 - min(used / public.n, MOST_FITTED)) ** 2
    answered = public.with_loss(problem.loss)
    clipped = answered.gradient(theta)
    bends = public.with_loss(smoothed(problem.loss)).hessian(theta)
    chance = curvature + pull + one_row - problem.ridge * np.eye(len(theta))
    covariance = np.asarray(ratio / m * inverse @ chance @ inverse, dtype=np.float64)
    return PublicView(
        covariance=covariance,
        curvature=bends + problem.ridge * np.eye(len(theta)),
        scatter=answered.gradient_covariance(theta) - np.outer(clipped, clipped),
        answer=clipped - mean - problem.ridge * theta,
        doubt=_doubt(problem, public, theta, bends @ inverse) / m,
        whole=curvature,
        rows=m,
    )


def _doubt(problem: Problem, public: Risk, theta: FloatArray, passed: FloatArray) -> FloatArray:
    """Return the covariance, over public rows, of a clipped gradient less what is made of the whole one.

    Chance ε in the mean gradient of the public rows moves θ₀ by H⁻¹ε, and the mean answer there by
    H_c H⁻¹ε, H_c the curvature of the clipped loss. But it is chance in their clipped gradients that the
    mean answer of public rows is off by; the difference is nobody's knowledge.
    """
    if problem.loss is problem.fitness_loss:
        return np.zeros_like(passed)
    if not isinstance(public, RowRisk):
        raise TreatyError("what clipping does to public rows is told by the rows one by one")
    x, targets = dense(public.x), public.y[:, None]
    scores = x @ theta[:, None]
    whole = public.loss.on(x).slope(scores, targets) * x
    cut = problem.loss.on(x).slope(scores, targets) * x
    left = cut - whole @ passed.T
    return np.cov(left, rowvar=False, ddof=0)
