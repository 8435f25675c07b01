"""Empirical risk: the mean loss of one set of records, and its gradient, at many models at once."""

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness.moments import Moments
from treaty.fitness.summation import BLOCK_ROWS
from treaty.fitness.threads import over_shares
from treaty.losses import Clipped, Loss, ships
from treaty.matrices import Matrix, gram, scores, single_precision, summed

WORKING_SET = 1 << 17
"""Scores (rows × models) held at once: 1 MiB, which stays in a core's cache."""


class Risk(ABC):
    """(1/n) Σ ℓ(θ; x, y) over n records. θ may be one model (p,) or a stack of models (…, p)."""

    n: int
    dimension: int

    @abstractmethod
    def value(self, theta: FloatArray) -> FloatArray:
        """Return the mean loss at each θ, shape (…)."""

    @abstractmethod
    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the mean (sub)gradient at each θ, shape (…, p)."""

    def gradient_along(self, theta: FloatArray, axes: FloatArray) -> FloatArray:
        """Return the mean gradient at each θ along axes, shape (p, k): k numbers, shape (…, k)."""
        return self.gradient(theta) @ axes

    @abstractmethod
    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the mean Hessian at one θ, shape (p, p)."""

    def along(self, theta: FloatArray, direction: FloatArray) -> Callable[[float], float]:
        """Return the derivative along a direction d, as a function of t: ∇ at θ + t·d, times d."""
        return lambda t: float(self.gradient(theta + t * direction) @ direction)

    @abstractmethod
    def with_loss(self, loss: Loss) -> "Risk":
        """Return the risk of the same records under another loss."""

    @abstractmethod
    def gradient_covariance(self, theta: FloatArray) -> FloatArray:
        """Return the mean of ∇ℓ∇ℓᵀ over the records at one θ, shape (p, p)."""

    @abstractmethod
    def column(self, index: int) -> "Risk":
        """Return the risk of the model that uses only one coordinate of x."""

    @property
    def moments(self) -> Moments:
        """XᵀX/n, Xᵀy/n and yᵀy/n of the records."""
        raise TreatyError("these records are not at hand as rows or moments")


class MomentRisk(Risk):
    """Mean squared loss through sufficient statistics: O(p²) whatever n is."""

    def __init__(self, moments: Moments) -> None:
        self._moments = moments
        self.n = moments.n
        self.dimension = len(moments.xy)

    @property
    def moments(self) -> Moments:
        """The moments it is made of."""
        return self._moments

    def value(self, theta: FloatArray) -> FloatArray:
        """Return θᵀAθ − 2bᵀθ + c."""
        m = self.moments
        quadratic = np.einsum("...i,...i->...", theta @ m.xx, theta)
        return quadratic - 2.0 * (theta @ m.xy) + m.yy

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return 2(Aθ − b)."""
        return 2.0 * (theta @ self.moments.xx - self.moments.xy)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return 2A."""
        return 2.0 * self.moments.xx

    def with_loss(self, loss: Loss) -> Risk:
        """Return itself for squared loss; moments can serve no other."""
        if not has_moments(loss):
            raise TreatyError(f"sufficient statistics cannot give the {loss.name} loss: keep rows")
        return self

    def gradient_covariance(self, theta: FloatArray) -> FloatArray:
        """Return 4·(mean squared residual)·A, as if residuals did not depend on x."""
        return 4.0 * float(self.value(theta)) * self.moments.xx

    def column(self, index: int) -> Risk:
        """Return the risk of one coordinate."""
        m = self.moments
        return MomentRisk(Moments(m.n, m.xx[[index]][:, [index]], m.xy[[index]], m.yy))


class RowRisk(Risk):
    """Mean loss over rows held in memory (or in a memory-mapped file), block by block.

    Each block costs two matrix products for all models at once; working memory is bounded
    whatever the numbers of rows and models.
    """

    def __init__(self, loss: Loss, x: Matrix, y: FloatArray) -> None:
        if x.shape[0] != len(y) or len(y) == 0:
            raise TreatyError(f"{x.shape[0]} rows of x and {len(y)} targets are no set of records")
        self.loss = loss
        self.x = x
        self.y = y
        self.n, self.dimension = x.shape

    def in_single_precision(self) -> "RowRisk":
        """Return the same records in single precision: some four times as fast, for simulations.

        Sums over rows are still added up in double precision, block by block.
        """
        y = cast(FloatArray, np.ascontiguousarray(self.y, dtype=np.float32))
        return RowRisk(self.loss, single_precision(self.x), y)

    @property
    def moments(self) -> Moments:
        """The rows added up."""
        return Moments.of([(self.x, self.y)])

    def _blocks(self, share: range, models: int) -> Iterator[tuple[Loss, Matrix, FloatArray]]:
        rows = min(BLOCK_ROWS, max(64, WORKING_SET // max(1, models)))
        for start in range(share.start, share.stop, rows):
            block = slice(start, min(start + rows, share.stop))
            x = self.x[block]
            yield self.loss.on(x), x, self.y[block, None]

    def value(self, theta: FloatArray) -> FloatArray:
        """Return the mean loss at each θ."""
        models = _stack(theta)
        total = np.zeros(len(models))
        for part, transposed in _portions(models, self.x.dtype):

            def sums(share: range, transposed: FloatArray = transposed) -> FloatArray:
                mine = np.zeros(transposed.shape[1])
                for loss, x, y in self._blocks(share, len(mine)):
                    mine += loss.value(scores(x, transposed), y).sum(axis=0)
                return mine

            total[part] = self._added(sums, transposed) / self.n
        return total.reshape(theta.shape[:-1])

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the mean (sub)gradient at each θ."""
        return self._gradients(theta, None)

    def gradient_along(self, theta: FloatArray, axes: FloatArray) -> FloatArray:
        """Return the mean gradient along axes, added up of every row's own.

        A row along the axes may be far shorter than the row. So its own gradient along them is what is
        made first, and clipped where the loss is: rounding stays as small as that is.
        """
        return self._gradients(theta, axes)

    def _gradients(self, theta: FloatArray, axes: FloatArray | None) -> FloatArray:
        models, length = _stack(theta), self.dimension if axes is None else axes.shape[1]
        total = np.zeros((len(models), length))
        for part, transposed in _portions(models, self.x.dtype):

            def sums(share: range, transposed: FloatArray = transposed) -> FloatArray:
                mine = np.zeros((transposed.shape[1], length))
                for loss, x, y in self._blocks(share, len(mine)):
                    asked = x
                    if axes is not None:
                        asked = scores(x, axes)
                        if isinstance(self.loss, Clipped) and self.loss.axes is not None:
                            loss = self.loss.limited(x, asked)
                    mine += summed(loss.slope(scores(x, transposed), y).T, asked)
                return mine

            total[part] = self._added(sums, transposed) / self.n
        return total.reshape((*theta.shape[:-1], length))

    def _added(self, sums: Callable[[range], FloatArray], models: FloatArray) -> FloatArray:
        """Add up what `sums` makes of each thread's share of the rows, in the order of the rows."""
        parts = over_shares(self.n, 2 * self.n * models.size, sums)
        return functools.reduce(np.add, parts)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return (1/n) Σ φ″(θᵀx, y) x xᵀ."""
        total = np.zeros((self.dimension, self.dimension))
        for loss, x, y in self._blocks(range(self.n), self.dimension):
            curvature = loss.curvature(scores(x, theta[:, None]), y)[:, 0]
            bent = np.flatnonzero(curvature)
            if len(bent) < len(curvature) // 2:
                x, curvature = x[bent], curvature[bent]
            total += gram(x, curvature)
        return total / self.n

    def along(self, theta: FloatArray, direction: FloatArray) -> Callable[[float], float]:
        """Return the derivative along a direction; its scores are computed once for every t."""
        loss, y = self.loss.on(self.x), self.y[:, None]
        begin, moves = scores(self.x, theta[:, None]), scores(self.x, direction[:, None])
        return lambda t: float(np.mean(loss.slope(begin + t * moves, y) * moves))

    def with_loss(self, loss: Loss) -> Risk:
        """Return the risk of the same rows under another loss."""
        return RowRisk(loss, self.x, self.y)

    def gradient_covariance(self, theta: FloatArray) -> FloatArray:
        """Return (1/n) Σ φ′(θᵀx, y)² x xᵀ."""
        total = np.zeros((self.dimension, self.dimension))
        for loss, x, y in self._blocks(range(self.n), self.dimension):
            total += gram(x, loss.slope(scores(x, theta[:, None]), y)[:, 0] ** 2)
        return total / self.n

    def column(self, index: int) -> Risk:
        """Return the risk of one coordinate."""
        return RowRisk(self.loss, scores(self.x, np.eye(self.dimension)[:, [index]]), self.y)


class PooledRisk(Risk):
    """A weighted mean of several risks, as if their owners held one set of records."""

    def __init__(self, risks: Sequence[Risk], weights: Sequence[float]) -> None:
        self.risks = tuple(risks)
        self.weights = tuple(float(w) for w in weights)
        self.n = sum(risk.n for risk in risks)
        self.dimension = risks[0].dimension

    def value(self, theta: FloatArray) -> FloatArray:
        """Return the weighted mean of the values."""
        return _weighted([r.value(theta) for r in self.risks], self.weights)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the weighted mean of the gradients."""
        return _weighted([r.gradient(theta) for r in self.risks], self.weights)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the weighted mean of the Hessians."""
        return _weighted([r.hessian(theta) for r in self.risks], self.weights)

    def along(self, theta: FloatArray, direction: FloatArray) -> Callable[[float], float]:
        """Return the weighted mean of the derivatives."""
        parts = [r.along(theta, direction) for r in self.risks]
        return lambda t: sum(
            weight * part(t) for weight, part in zip(self.weights, parts, strict=True)
        )

    def with_loss(self, loss: Loss) -> Risk:
        """Return the pool under another loss."""
        return PooledRisk([r.with_loss(loss) for r in self.risks], self.weights)

    def gradient_covariance(self, theta: FloatArray) -> FloatArray:
        """Return the weighted mean of the covariances."""
        return _weighted([r.gradient_covariance(theta) for r in self.risks], self.weights)

    @property
    def moments(self) -> Moments:
        """The weighted mean of the moments."""
        return _weighted_moments(self.n, [r.moments for r in self.risks], self.weights)

    def column(self, index: int) -> Risk:
        """Return the pool of one coordinate."""
        return PooledRisk([r.column(index) for r in self.risks], self.weights)


def pooled(risks: Sequence[Risk], weights: Sequence[float] | None = None) -> Risk:
    """Return the weighted mean of risks (by default by records: their union).

    Moments are merged into one set, so that a pool of a thousand owners costs what one costs; pools
    in it are taken apart, and what is in it more than once is in the result once.
    """
    total = sum(risk.n for risk in risks)
    if weights is None:
        weights = [risk.n / total for risk in risks]
    risks, weights = _distinct(risks, weights)
    if len(risks) == 1 and math.isclose(weights[0], 1.0):
        return risks[0]
    moments = [risk.moments for risk in risks if isinstance(risk, MomentRisk)]
    if len(moments) < len(risks):
        return PooledRisk(risks, weights)
    return MomentRisk(_weighted_moments(total, moments, weights))


def _weighted_moments(n: int, moments: Sequence[Moments], weights: Sequence[float]) -> Moments:
    return Moments(
        n,
        _weighted([m.xx for m in moments], weights),
        _weighted([m.xy for m in moments], weights),
        float(sum(w * m.yy for w, m in zip(weights, moments, strict=True))),
    )


def _distinct(risks: Sequence[Risk], weights: Sequence[float]) -> tuple[list[Risk], list[float]]:
    found: dict[Risk, float] = {}
    for risk, weight in zip(risks, weights, strict=True):
        inner = (
            zip(risk.risks, risk.weights, strict=True)
            if isinstance(risk, PooledRisk)
            else [(risk, 1.0)]
        )
        for one, share in inner:
            found[one] = found.get(one, 0.0) + weight * share
    return list(found), list(found.values())


def risk_of(loss: Loss, x: Matrix, y: FloatArray) -> Risk:
    """Return the risk of rows in memory, through sufficient statistics where the loss has them."""
    if has_moments(loss):
        return MomentRisk(Moments.of([(x, y)]))
    return RowRisk(loss, x, y)


def has_moments(loss: Loss) -> bool:
    """Whether `MomentRisk` computes this very loss.

    A loss declares that it has sufficient statistics. Only those that come with Treaty are taken at
    their word: what a user's own loss inherits from one of them need not hold for it.
    """
    return loss.sufficient_statistics and ships(loss)


def _weighted(parts: Sequence[FloatArray], weights: Sequence[float]) -> FloatArray:
    total = weights[0] * parts[0]
    for weight, part in zip(weights[1:], parts[1:], strict=True):
        total = total + weight * part
    return total


def _stack(theta: FloatArray) -> FloatArray:
    return theta.reshape(-1, theta.shape[-1])


def _portions(models: FloatArray, kind: np.dtype[np.float64]) -> Iterator[tuple[slice, FloatArray]]:
    """Cut a long stack of models so that a block of rows times a portion stays bounded."""
    size = WORKING_SET // 64
    for start in range(0, len(models), size):
        part = slice(start, start + size)
        yield part, np.ascontiguousarray(models[part].T, dtype=kind)
