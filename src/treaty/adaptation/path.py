"""Models between an owner's own and a shared one: the path along which the ridge grows.

    θ(λ) = argmin  mean ℓ(θ; x, y) + (λ/2)(θ − θ₀)ᵀM(θ − θ₀)

From λ = 0, the best model of the owner's own records, to λ = ∞, the nearest model that costs nothing in
M: the shared model itself, or, where M leaves the level free, the shared model at the owner's own level.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from treaty.adaptation.anchored import AnchoredRisk
from treaty.arrays import FloatArray
from treaty.fitness import MomentRisk, Problem, Risk
from treaty.fitness.solver import newton
from treaty.losses import Windowed

STRONGEST = 1e7
"""λ beyond which nothing but chance in the last digits moves: ∞ is taken for this."""
ROUNDED = 0.05
"""Half the width over which a loss with kinks is averaged while strengths are compared."""
SHARP = 1e-4
"""Half the width that is left of it when a model is solved exactly: it costs at most half of that."""
COMPARED, EXACT = 1e-5, 1e-9
"""How exactly models are solved, relative to f: while strengths are compared, and at last."""


class Path(Protocol):
    """The models of some records, for any anchor and any strength."""

    def models(self, anchors: FloatArray, strengths: Sequence[float]) -> FloatArray:
        """Return θ(λ) for every anchor, shape (anchors, p), and λ: shape (anchors, strengths, p).

        Kinks of a loss are rounded a little: to compare strengths that is enough.
        """
        ...

    def exact(self, anchor: FloatArray, strength: float) -> FloatArray:
        """Return θ(λ) for one anchor, shape (p,), and one λ, solved exactly."""
        ...


def path_of(problem: Problem, risk: Risk, metric: FloatArray) -> Path:
    """Return the path of some records: in closed form where the loss is a square."""
    risk = risk.with_loss(problem.fitness_loss)
    if isinstance(risk, MomentRisk):
        return _QuadraticPath(risk, metric)
    return _NewtonPath(problem, risk, metric)


class _QuadraticPath:
    """θ(λ) = θ₀ − (H + λM)⁻¹∇(θ₀): H and M are made diagonal together, once for all λ and θ₀.

    B = H + M is positive definite (a trace of the identity sees to it), B = LLᵀ, and L⁻¹ML⁻ᵀ = QμQᵀ with
    0 ≤ μ ≤ 1. With R = L⁻ᵀQ then (H + λM)⁻¹ = R·diag(1/(1 − μ + λμ))·Rᵀ.
    """

    def __init__(self, risk: MomentRisk, metric: FloatArray) -> None:
        self._risk = risk
        both = risk.hessian(np.zeros(risk.dimension)) + metric
        both = both + 1e-9 * float(np.trace(both)) / len(both) * np.eye(len(both))
        lower = np.linalg.cholesky(both)
        half = solve_triangular(lower, metric, lower=True)
        inner = solve_triangular(lower, half.T, lower=True)
        mu, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
        self._mu = np.clip(mu, 0.0, 1.0)
        self._root = np.asarray(solve_triangular(lower.T, vectors))

    def models(self, anchors: FloatArray, strengths: Sequence[float]) -> FloatArray:
        """Return θ(λ) for every anchor and λ."""
        strength = np.minimum(strengths, STRONGEST)[:, None]
        shrunk = 1.0 / np.maximum(1.0 - self._mu + strength * self._mu, 1e-12)
        pulls = self._risk.gradient(anchors) @ self._root
        return anchors[:, None, :] - (pulls[:, None, :] * shrunk) @ self._root.T

    def exact(self, anchor: FloatArray, strength: float) -> FloatArray:
        """Return θ(λ): the closed form is exact."""
        return self.models(anchor[None], [strength])[0, 0]


class _NewtonPath:
    """Each λ solved by itself, beginning at the model of the next stronger one."""

    def __init__(self, problem: Problem, risk: Risk, metric: FloatArray) -> None:
        self._problem = replace(problem, ridge=0.0, theta_max=math.inf)
        self._risk = risk
        kinks = math.isinf(problem.fitness_loss.curvature_bound)
        self._rounded = risk.with_loss(Windowed(problem.fitness_loss, ROUNDED)) if kinks else risk
        # Where neither the records nor the metric say anything, a model stays where it is.
        self._metric = metric + 1e-9 * float(np.trace(metric)) / len(metric) * np.eye(len(metric))

    def models(self, anchors: FloatArray, strengths: Sequence[float]) -> FloatArray:
        """Return θ(λ) for every anchor and λ."""
        found = np.empty((len(anchors), len(strengths), anchors.shape[-1]))
        from_strongest = sorted(range(len(strengths)), key=lambda s: -strengths[s])
        for a, anchor in enumerate(anchors):
            theta = anchor
            for s in from_strongest:
                anchored = AnchoredRisk(self._rounded, anchor, self._pull(strengths[s]))
                theta = found[a, s] = newton(self._problem, anchored, theta, COMPARED)[0]
        return found

    def exact(self, anchor: FloatArray, strength: float) -> FloatArray:
        """Return θ(λ); the window over which kinks are averaged shrinks until it hardly counts."""
        theta = self.models(anchor[None], [strength])[0, 0]
        for risk in self._sharper():
            anchored = AnchoredRisk(risk, anchor, self._pull(strength))
            theta = newton(self._problem, anchored, theta, EXACT)[0]
        return theta

    def _sharper(self) -> Iterator[Risk]:
        if self._rounded is self._risk:
            yield self._risk
            return
        width = ROUNDED
        while width > SHARP:
            width *= 0.25
            yield self._risk.with_loss(Windowed(self._problem.fitness_loss, width))

    def _pull(self, strength: float) -> FloatArray:
        return min(strength, STRONGEST) * self._metric
