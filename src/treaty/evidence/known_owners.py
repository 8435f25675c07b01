"""What public rows tell of owners that differ: how much each does, and what is left to chance."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.evidence.folds import Names, Rows
from treaty.evidence.parts import FEWEST_OWN
from treaty.fitness import Problem, RowRisk
from treaty.fitness.curvature import curvature_of, smoothed

VARIETY = 2.0
"""The prior standard deviation of τ across owners, over its typical value."""
LEAST_BESIDE = 0.05
"""Where nearly all rows are one owner's, nothing tells by how much it differs from the others."""
NEXT_TO_NOTHING = 1e-6
"""Curvature below this share of the largest counts as none."""


@dataclass(frozen=True, eq=False)
class KnownOwner:
    """What the public rows tell about one owner.

    Args:
        rows: which are its own.
        gradient: their mean gradient at θ₀.
        curvature: their curvature there.
        scatter: the covariance of one of their gradients by chance.
    """

    rows: IntArray
    gradient: FloatArray
    curvature: FloatArray
    scatter: FloatArray


class KnownOwners:
    """What public rows tell: their best model θ₀, chance in it, and how far owners lie apart.

    Args:
        problem: what is learnt.
        rows: the public rows.
        owner: whose each of them is.
    """

    def __init__(self, problem: Problem, rows: Rows, owner: Names) -> None:
        self.problem, self.rows = problem, rows
        self.theta = rows.best(problem).theta
        self._slopes, self.inverse, self.residuals = _chance(problem, rows, self.theta)
        self.root = _root(self.inverse)
        self._rank = max(1, int(np.linalg.matrix_rank(self.inverse)))
        scatter = self._scatter(np.arange(len(rows)))
        self.sampling = 0.5 * float(np.trace(self.inverse @ scatter))
        self.owners = {
            str(name): self._tell(np.flatnonzero(owner == name))
            for name, count in zip(*np.unique(owner, return_counts=True), strict=True)
            if count >= FEWEST_OWN
        }
        self._told = self._how_owners_differ()

    def _scatter(self, rows: IntArray) -> FloatArray:
        x = self.rows.x[rows]
        return x.T @ (self._slopes[rows, None] ** 2 * x) / len(rows)

    def subset(self, rows: IntArray) -> RowRisk:
        """Return some of the rows."""
        return RowRisk(self.problem.fitness_loss, self.rows.x[rows], self.rows.y[rows])

    def _tell(self, rows: IntArray) -> KnownOwner:
        mine = self.subset(rows)
        return KnownOwner(
            rows,
            mine.gradient(self.theta),
            curvature_of(self.problem, mine, self.theta),
            self._scatter(rows),
        )

    def _how_owners_differ(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what the rows of every known owner say of its τ, what chance makes of it, and rows.

        Of m_i rows E gᵀH⁻¹g = τ tr((H⁻¹H_i)²) + tr(H⁻¹G_i)/m_i: how much the owner differs, and chance.
        """
        inverse = self.inverse
        weights = np.array([len(known.rows) for known in self.owners.values()]) / len(self.rows)
        told: list[tuple[float, float, float]] = []
        for known, weight in zip(self.owners.values(), weights, strict=True):
            through = inverse @ known.curvature
            # θ₀ lies amidst the owners, the nearer to one the more rows are its own.
            beside = max(1 - 2 * weight + float(weights @ weights), LEAST_BESIDE)
            unit = max(beside * float(np.sum(through * through.T)), LEAST_BESIDE)
            chance = float(np.sum(inverse * known.scatter)) / len(known.rows)
            square = float(known.gradient @ inverse @ known.gradient)
            told.append(((square - chance) / unit, chance / unit, float(len(known.rows))))
        found, chance, counts = np.array(told).reshape(-1, 3).T
        return found, chance, counts

    def drawn_variety(self, random: np.random.Generator) -> dict[str, tuple[float, float]]:
        """Draw how much owners differ in a world: mean and variance of each one's τ, "" for strangers.

        The median owner is typical, as a few differ wildly; few owners do not tell what is typical.
        """
        found, chance, counts = self._told
        least = 1e-3 * self.sampling / self._rank
        if not len(found):
            return {"": (least, (VARIETY * least) ** 2)}
        shares = counts / counts.sum()
        order = np.argsort(found)
        middle = int(np.searchsorted(np.cumsum(shares[order]), 0.5))
        typical = max(least, float(found[order[middle]]))
        free = np.minimum(self._rank, counts)
        error = 2 * (typical + chance) ** 2 / free
        doubt = float(np.sum(shares**2 * (error + (VARIETY * typical) ** 2)))
        typical = max(least, float(_gamma(typical, doubt, random)))
        prior = (VARIETY * typical) ** 2
        weight = prior / (prior + error)
        mean = np.maximum(typical + weight * (found - typical), 0.05 * typical)
        believed = {"": (typical, prior)}
        for name, one, left in zip(self.owners, mean, prior * (1 - weight), strict=True):
            believed[name] = (float(one), float(left))
        return believed

    def drawn_difference(
        self,
        name: str,
        common: FloatArray,
        variety: Mapping[str, tuple[float, float]],
        random: np.random.Generator,
    ) -> FloatArray:
        """Return a draw of d, where an owner's best model lies from the others' common one."""
        prior = _gamma(*variety.get(name, variety[""]), random) * self.inverse
        known = self.owners.get(name)
        if known is None:
            return _root(prior) @ random.standard_normal(len(common))
        through = known.curvature @ prior
        seen = through @ known.curvature + known.scatter / len(known.rows)
        gain = through.T @ inverse_of(seen)
        believed = -gain @ (known.gradient + known.curvature @ common)
        left = _root(prior - gain @ through)
        return believed + left @ random.standard_normal(len(common))


def _chance(
    problem: Problem, rows: Rows, theta: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the size of every row's slope by chance, H⁻¹ where there is curvature, and residuals.

    A row that decides its own prediction leaves no residual: with leverage h the expected square is
    1 − h times what it was, so h times the usual square is put back.
    """
    scores, targets = rows.x @ theta[:, None], rows.y[:, None]
    slopes = problem.fitness_loss.on(rows.x).slope(scores, targets)[:, 0]
    bends = smoothed(problem.fitness_loss).on(rows.x).curvature(scores, targets)[:, 0]
    hessian = rows.x.T @ (bends[:, None] * rows.x) / len(rows)
    inverse = inverse_of(hessian)
    used = bends * np.einsum("ij,ij->i", rows.x @ inverse, rows.x) / len(rows)
    used = np.minimum(used, 1.0)
    free = max(1.0 - float(used.sum()) / len(rows), 0.1)
    usual = float(np.mean(slopes**2)) / float(np.mean(bends)) / free
    sizes = np.sqrt(slopes**2 + used * usual * bends)
    off = rows.y - scores[:, 0]
    if not problem.fitness_loss.labels:
        off = np.where(off < 0, -1.0, 1.0) * np.sqrt(off**2 + used * float(np.mean(off**2)) / free)
    return sizes, inverse, off


def _gamma(mean: float, variance: float, random: np.random.Generator) -> float:
    """Draw a positive number of this mean and variance."""
    variance = max(variance, 1e-6 * mean**2)
    return float(random.gamma(mean**2 / variance, variance / mean))


def inverse_of(hessian: FloatArray) -> FloatArray:
    """Return H⁻¹ where there is curvature, and 0 elsewhere."""
    values, vectors = np.linalg.eigh(hessian)
    there = values > NEXT_TO_NOTHING * values[-1]
    return (vectors[:, there] / values[there]) @ vectors[:, there].T


def _root(covariance: FloatArray) -> FloatArray:
    """Return a square root; what rounding makes negative counts as 0."""
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    return vectors * np.sqrt(np.maximum(values, 0.0))
