"""What public rows tell a learner about the answers it is going to get."""

from dataclasses import dataclass

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness import Problem, Risk, RowRisk, curvature_of
from treaty.fitness.curvature import smoothed
from treaty.losses import Logistic, Weighted
from treaty.matrices import dense

NODES = 21
"""Means over a normal variable are computed with so many of its values."""
NARROW = 1e-3
"""The least standard deviation of a score: below it, a difference quotient is the slope."""
MOST_FITTED = 0.9
"""A model of m rows is taken to have used up at most this share of them."""
TINY = 1e-300
TINY_SHARE = 1e-9


@dataclass(frozen=True, eq=False)
class PublicView:
    """What is known, before anybody answers, about a mean gradient at the public model θ₀.

    Args:
        covariance: of θ* − θ₀, since θ₀ was found on few rows, shape (p, p).
        curvature: by how much an answer at θ₀ is expected to lie off `answer` for θ₀ − θ*, shape (p, p);
            where that bends, on average over all θ* that may be.
        bends: by how much answers move with the θ that they are asked at, shape (p, p).
        scatter: the covariance of one record's clipped gradient at θ₀, shape (p, p).
        answer: what owners would answer at θ₀ if it were the best model.
        doubt: the covariance of the error in that: what clipping does is known from m rows only.
        whole: the curvature of the mean loss that fitness is measured with, shape (p, p).
        rows: from how many rows the curvature is known: m, or fewer where a few rows make up most of it.
    """

    covariance: FloatArray
    curvature: FloatArray
    bends: FloatArray
    scatter: FloatArray
    answer: FloatArray
    doubt: FloatArray
    whole: FloatArray
    rows: float

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
    is beyond it, in directions where it is, stands for what was believed before. c is raised for what
    the model has fitted already: (1 − k/m)⁻² with k = tr((H + K)⁻¹H), as generalised cross-validation
    does.

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
    inverse = np.asarray(np.linalg.inv(curvature + pull + one_row), dtype=np.float64)
    mean = public.gradient(theta)
    scatter = public.gradient_covariance(theta) - np.outer(mean, mean)
    used = float(np.trace(inverse @ curvature))
    ratio = float(np.trace(inverse @ scatter)) / used
    ratio /= (1 - min(used / public.n, MOST_FITTED)) ** 2
    answered = public.with_loss(problem.loss)
    clipped = answered.gradient(theta)
    values, vectors = np.linalg.eigh(pull - problem.ridge * np.eye(len(theta)))
    beyond = (vectors * np.maximum(values, 0.0)) @ vectors.T
    covariance = np.asarray(
        ratio / m * inverse @ (curvature + one_row + beyond) @ inverse, dtype=np.float64
    )
    whole, shift, known_from = _moves(problem, public, theta, covariance)
    whole = whole + problem.ridge * np.eye(len(theta))
    shown, doubt = _shown(problem, public, theta, inverse, whole)
    bends = shown @ whole
    if not _gives_chances(problem):
        bends = public.with_loss(smoothed(problem.loss)).hessian(theta)
    return PublicView(
        covariance=covariance,
        curvature=shown @ whole,
        bends=bends,
        scatter=answered.gradient_covariance(theta) - np.outer(clipped, clipped),
        answer=clipped - shown @ (mean + problem.ridge * theta - shift),
        doubt=doubt / m,
        whole=curvature,
        rows=known_from * m / public.n,
    )


def _shown(
    problem: Problem, public: Risk, theta: FloatArray, inverse: FloatArray, whole: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return how much of chance in whole gradients clipped ones show, and the covariance of the rest.

    Owners' and public rows' mean answers at θ₀ differ by chance alone, whatever θ* is: by −e of chance
    in the public rows' clipped gradients, as long as owners have many more records. θ₀ is off by chance
    in their whole gradients, E = (ḡ + λθ₀) − (H + λI)(θ₀ − θ*), ḡ their mean at θ₀. Long gradients are
    what is clipped, and chance in them shows in the clipped ones as well, but for less than it is: the
    best line is e = βE, and what it leaves over is independent of θ₀ − θ*. So β(H + λI), and not the
    curvature of the clipped loss, is what answers tell of θ₀ − θ*; where nothing is clipped β is 1.

    β is a matrix, as least squares over the public rows has it. Where these are few for so many columns
    it is shrunk towards one number, in the metric (H + K)⁻¹, by as much as a model of them is fitted to
    chance: tr((H + K)⁻¹H)/m.

    Args:
        problem: what is learnt.
        public: the rows.
        theta: θ₀.
        inverse: (H + K)⁻¹.
        whole: H + λI, without a clip.
    """
    if problem.loss is problem.fitness_loss:
        return np.eye(len(theta)), np.zeros_like(whole)
    gradients, clipped = _row_by_row(problem, public, theta)
    gradients, clipped = gradients - gradients.mean(axis=0), clipped - clipped.mean(axis=0)
    spread, shared = gradients.T @ gradients, clipped.T @ gradients
    used = float(np.trace(inverse @ curvature_of(problem, public, theta)))
    fitted = min(used / public.n, MOST_FITTED)
    size = max(float(np.sum(inverse * spread)), TINY)
    alike = float(np.sum(inverse * shared)) / size
    metric = size / float(np.trace(inverse @ whole)) * whole
    metric += TINY_SHARE * float(np.trace(metric)) / len(whole) * np.eye(len(whole))
    steady = spread + max(fitted, TINY_SHARE) * metric
    beyond = np.asarray(np.linalg.solve(steady, (shared - alike * spread).T), dtype=np.float64)
    shown = alike * np.eye(len(whole)) + beyond.T
    left = (clipped - gradients @ shown.T) / (1 - fitted)
    return shown, left.T @ left / len(left)


def _gives_chances(problem: Problem) -> bool:
    """Whether a model gives probabilities of labels."""
    loss = problem.fitness_loss
    return (loss.loss if isinstance(loss, Weighted) else loss).name == Logistic.name


def _moves(
    problem: Problem, public: Risk, theta: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return how the mean gradient at θ₀ moves with θ₀ − θ*, what it is on average, of how many rows.

    For most losses that is the curvature, and nothing. For logistic loss the curvature at θ₀ is none to
    go by: a record that θ₀ is sure of has next to none, and a step as long as that deserves is far too
    long. But a model gives probabilities of labels: if θ* is the best one, a record has the positive
    label with probability q(xᵀθ*), and its mean gradient at θ₀ follows. θ* is about normal around θ₀, so
    that z = xᵀθ* is, and by Stein's lemma the best line through what q does is E[q(z)(z − xᵀθ₀)]/Var(z),
    as in a filter that is linearised statistically. Where a label is rare a few records make up most of
    that, and it is known from no more than these.

    References:
        Särkkä: Bayesian Filtering and Smoothing, 2013, chapter 5.
    """
    if not _gives_chances(problem):
        return curvature_of(problem, public, theta), np.zeros_like(theta), public.n
    if not isinstance(public, RowRisk):
        raise TreatyError("what other labels would do to answers is told by the rows one by one")
    x = dense(public.x)
    at = (x @ theta)[:, None]
    wide = np.sqrt(np.maximum(np.sum((x @ covariance) * x, axis=1), NARROW**2))
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    chances = _chances(problem, at + wide[:, None] * nodes)
    rise = chances @ (weights * nodes) / wide
    more = chances @ weights - _chances(problem, at)[:, 0]
    ones = np.ones_like(at)
    yes, no = (problem.fitness_loss.slope(at, label)[:, 0] for label in (ones, -ones))
    bend = np.asarray(rise * (no - yes), dtype=np.float64)
    bends = np.asarray(x.T @ (bend[:, None] * x) / len(x), dtype=np.float64)
    # The covariance of one row's share in H(θ₀ − θ*) is E[(bend·xᵀ(θ₀ − θ*))²xxᵀ]; about tr(HΣ)H if
    # rows are alike.
    alike = float(np.sum(bends * covariance)) * float(np.trace(bends))
    uneven = float((bend * wide) ** 2 @ np.einsum("ij,ij->i", x, x)) / public.n
    known_from = public.n * min(1.0, alike / uneven) if uneven > 0 else float(public.n)
    return bends, np.asarray((more * (yes - no)) @ x / len(x), dtype=np.float64), known_from


def _row_by_row(problem: Problem, public: Risk, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return every public row's gradient at θ₀, and the same clipped."""
    if not isinstance(public, RowRisk):
        raise TreatyError("what clipping does to public rows is told by the rows one by one")
    x, targets = dense(public.x), public.y[:, None]
    scores = x @ theta[:, None]
    return public.loss.on(x).slope(scores, targets) * x, problem.loss.on(x).slope(
        scores, targets
    ) * x


def _chances(problem: Problem, scores: FloatArray) -> FloatArray:
    """Return q(z), the probability of the positive label under which a score z is the best one.

    The mean slope of the loss is then 0; class weights are undone by that.
    """
    loss = problem.fitness_loss
    yes, no = (loss.slope(scores, np.full_like(scores, label)) for label in (1.0, -1.0))
    return no / (no - yes)
