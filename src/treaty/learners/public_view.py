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
FLAT = 1e-12
"""A mean curvature below that is none."""


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
        uneven: the covariance of one row's share in H(θ − θ*), if tr(HΣ) is 1, shape (p, p): about H
            where rows are alike.
        rows: from how many rows the curvature is known: m, or fewer where a few rows make up most of it.
    """

    covariance: FloatArray
    curvature: FloatArray
    bends: FloatArray
    scatter: FloatArray
    answer: FloatArray
    doubt: FloatArray
    whole: FloatArray
    uneven: FloatArray
    rows: float

    def bending(self, covariance: FloatArray, known_from: float | None = None) -> FloatArray:
        """Return the covariance of the error in H(θ − θ*), since H is known from m rows only.

        H is a mean over m rows of matrices h: the covariance of (h − H)(θ − θ*) is about tr(HΣ)·H where
        rows are alike, whether or not a row is clipped, and more in directions that few rows make up
        most of. In any direction it is taken to be as large as one row's worth.

        Args:
            covariance: Σ, of θ − θ*.
            known_from: from how many rows, if these tell less than their number says: rows of the same
                owner are alike.
        """
        return float(np.sum(self.whole * covariance)) / (known_from or self.rows) * self.wide

    @property
    def wide(self) -> FloatArray:
        """W, the covariance of one row's share in the error of H(θ − θ*), if tr(HΣ) is 1."""
        size = float(np.trace(self.whole)) / len(self.whole)
        return self.uneven + size * np.eye(len(self.whole))


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
    size = max(float(np.trace(curvature)) / len(curvature), FLAT)
    # In a direction that no public row has, as much is known as one row would tell.
    one_row = size / m * np.eye(len(curvature))
    inverse = np.asarray(np.linalg.inv(curvature + pull + one_row), dtype=np.float64)
    mean = public.gradient(theta)
    scatter = public.gradient_covariance(theta) - np.outer(mean, mean)
    used = float(np.trace(inverse @ curvature))
    chance = curvature
    ratio = 1.0
    if used > 0:
        ratio = float(np.trace(inverse @ scatter)) / used
        ratio /= (1 - min(used / public.n, MOST_FITTED)) ** 2
    else:  # a loss with kinks, and no row near one
        chance = scatter
    answered = public.with_loss(problem.loss)
    clipped = answered.gradient(theta)
    values, vectors = np.linalg.eigh(pull - problem.ridge * np.eye(len(theta)))
    beyond = (vectors * np.maximum(values, 0.0)) @ vectors.T
    covariance = np.asarray(
        ratio / m * inverse @ (chance + one_row + beyond) @ inverse, dtype=np.float64
    )
    chances = _gives_chances(problem)
    if chances:
        found = _through_chances(problem, public, theta, inverse, covariance)
    else:
        found = _through_clips(problem, public, theta, inverse)
    return PublicView(
        covariance=covariance,
        curvature=found.curvature,
        bends=found.bends,
        scatter=answered.gradient_covariance(theta) - np.outer(clipped, clipped),
        answer=clipped - found.without,
        doubt=found.doubt / m,
        whole=curvature,
        uneven=curvature if chances else _uneven(problem, public, theta, inverse, covariance, m),
        rows=found.rows * m / public.n,
    )


def _uneven(
    problem: Problem,
    public: Risk,
    theta: FloatArray,
    inverse: FloatArray,
    covariance: FloatArray,
    m: int,
) -> FloatArray:
    """Return the covariance of one row's share in H(θ − θ*), as if tr(HΣ) were 1.

    A row's share is φ″xxᵀ(θ − θ*), whose covariance is φ″²(xᵀΣx)xxᵀ. Rows that H itself was made of lie
    less far out than others: one that makes up the share k = φ″xᵀ(H + K)⁻¹x/m of H in its own direction
    counts (1 − k)⁻² times, as in the jackknife.

    References:
        MacKinnon, White: Some heteroskedasticity-consistent covariance matrix estimators with improved
        finite sample properties, 1985.
    """
    if not isinstance(public, RowRisk):
        return curvature_of(problem, public, theta)
    x = dense(public.x)
    loss = smoothed(problem.fitness_loss).on(public.x)
    bend = loss.curvature(x @ theta[:, None], public.y[:, None])[:, 0]
    off = np.sum((x @ covariance) * x, axis=1)
    own = np.minimum(bend * np.sum((x @ inverse) * x, axis=1) / m, MOST_FITTED)
    total = max(float(bend @ off) / public.n, TINY)
    shares = bend**2 * off / (1 - own) ** 2
    return np.asarray(x.T @ (shares[:, None] * x) / public.n / total, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Told:
    """What answers tell of θ₀ − θ*.

    Args:
        curvature: see `PublicView`.
        bends: see `PublicView`.
        without: what the public rows' own mean answer at θ₀ would be less, if θ₀ were the best model.
        doubt: the covariance of one row's error in that.
        rows: of how many rows the curvature is known.
    """

    curvature: FloatArray
    bends: FloatArray
    without: FloatArray
    doubt: FloatArray
    rows: float


def _through_clips(problem: Problem, public: Risk, theta: FloatArray, inverse: FloatArray) -> _Told:
    """Return what clipped gradients tell, of a loss whose curvature at θ₀ is one to go by.

    Owners' and public rows' mean answers at θ₀ differ by chance alone, whatever θ* is: by −e of chance
    in the public rows' clipped gradients, as long as owners have many more records. θ₀ is off by chance
    in their whole gradients, E = (ḡ + λθ₀) − (H + λI)(θ₀ − θ*), ḡ their mean at θ₀. Long gradients are
    what is clipped, and chance in them shows in the clipped ones as well, but for less than it is: the
    best line is e = βE, and what it leaves over is independent of θ₀ − θ*. So β(H + λI), and not the
    curvature of the clipped loss, is what answers tell of θ₀ − θ*; where nothing is clipped β is 1.

    β is a matrix, as least squares over the public rows has it. Where these are few for so many columns
    it is shrunk towards one number, in the metric (H + K)⁻¹, by as much as a model of them is fitted to
    chance: tr((H + K)⁻¹H)/m.
    """
    bends = public.with_loss(smoothed(problem.loss)).hessian(theta)
    curvature = curvature_of(problem, public, theta)
    whole = curvature + problem.ridge * np.eye(len(theta))
    mean = public.gradient(theta) + problem.ridge * theta
    if problem.loss is problem.fitness_loss:
        return _Told(whole, bends, mean, np.zeros_like(whole), public.n)
    gradients, clipped = _row_by_row(problem, public, theta)
    gradients, clipped = gradients - gradients.mean(axis=0), clipped - clipped.mean(axis=0)
    spread, shared = gradients.T @ gradients, clipped.T @ gradients
    fitted = min(float(np.trace(inverse @ curvature)) / public.n, MOST_FITTED)
    size = max(float(np.sum(inverse * spread)), TINY)
    alike = float(np.sum(inverse * shared)) / size
    metric = size / float(np.trace(inverse @ whole)) * whole
    steady = (
        spread + fitted * metric + 1e-9 * float(np.trace(metric)) / len(whole) * np.eye(len(whole))
    )
    beyond = np.asarray(np.linalg.solve(steady, (shared - alike * spread).T), dtype=np.float64)
    shown = alike * np.eye(len(whole)) + beyond.T
    left = (clipped - gradients @ shown.T) / (1 - fitted)
    return _Told(shown @ whole, bends, shown @ mean, left.T @ left / len(left), public.n)


def _gives_chances(problem: Problem) -> bool:
    """Whether a model gives probabilities of labels."""
    loss = problem.fitness_loss
    return (loss.loss if isinstance(loss, Weighted) else loss).name == Logistic.name


def _through_chances(
    problem: Problem, public: Risk, theta: FloatArray, inverse: FloatArray, covariance: FloatArray
) -> _Told:
    """Return what answers tell of a model that gives probabilities of labels.

    For logistic loss the curvature at θ₀ is none to go by: a record that θ₀ is sure of has next to none,
    and a step as long as that deserves is far too long. But if θ* is the best model, a record has the
    positive label with probability q(xᵀθ*), and its mean clipped gradient at θ₀ follows. θ* is about
    normal around θ₀, so that z = xᵀθ* is, and by Stein's lemma the best line through what q does is
    E[q(z)(z − xᵀθ₀)]/Var(z), as in a filter that is linearised statistically. Where a label is rare a
    few records make up most of that, and it is known from no more than these.

    Chance ε in the mean gradient of the public rows moves θ₀ by H⁻¹ε, and the mean answer there by
    H_c H⁻¹ε, H_c being that line. But it is chance in their clipped gradients that the mean answer of
    public rows is off by; the difference is nobody's knowledge.

    References:
        Särkkä: Bayesian Filtering and Smoothing, 2013, chapter 5.
    """
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
    yes, no = (problem.loss.on(x).slope(at, label)[:, 0] for label in (ones, -ones))
    bend = np.asarray(rise * (no - yes), dtype=np.float64)
    bends = np.asarray(x.T @ (bend[:, None] * x) / len(x), dtype=np.float64)
    # The covariance of one row's share in H(θ₀ − θ*) is E[(bend·xᵀ(θ₀ − θ*))²xxᵀ]; about tr(HΣ)H if
    # rows are alike.
    alike = float(np.sum(bends * covariance)) * float(np.trace(bends))
    uneven = float((bend * wide) ** 2 @ np.einsum("ij,ij->i", x, x)) / public.n
    rows = public.n * min(1.0, alike / uneven) if uneven > 0 else float(public.n)
    shift = np.asarray((more * (yes - no)) @ x / len(x), dtype=np.float64)
    doubt = np.zeros_like(bends)
    if problem.loss is not problem.fitness_loss:
        gradients, clipped = _row_by_row(problem, public, theta)
        doubt = np.cov(clipped - gradients @ (bends @ inverse).T, rowvar=False, ddof=0)
    curvature = bends + problem.ridge * np.eye(len(theta))
    without = public.gradient(theta) + problem.ridge * theta - shift
    return _Told(curvature, curvature, without, doubt, rows)


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
