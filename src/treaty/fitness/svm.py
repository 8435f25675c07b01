"""The exact linear support vector machine over a box, by a primal-dual interior-point method.

    minimise (λ/2)‖θ‖² + Σ ω_i ξ_i   subject to   ξ_i ≥ 0,  ξ_i + y_i θᵀx_i ≥ 1,  |θ_j| ≤ t

Each iteration solves one p × p system. Every α with 0 ≤ α_i ≤ ω_i gives a lower bound,

    D(α) = Σ α_i + Σ_j min over |θ_j| ≤ t of (λ/2)θ_j² − v_j θ_j,    v = Σ α_i y_i x_i,

so that f(θ) − D(α) certifies the answer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from treaty.arrays import FloatArray
from treaty.losses import Loss

_BLOCK = 8192


def solve_svm(
    ridge: float,
    theta_max: float,
    rows: Sequence[tuple[Loss, FloatArray, FloatArray, float]],
    tolerance: float,
) -> tuple[FloatArray, float]:
    """Return θ* and its certified duality gap (absolute).

    Args:
        ridge: λ ≥ 0.
        theta_max: t; may be infinite if λ > 0.
        rows: sets of rows (loss, x, y, ω), ω being the weight of one row.
        tolerance: the gap to reach, relative to the optimum.
    """
    margins: FloatArray = np.concatenate([x * y[:, None] for _, x, y, _ in rows])
    weight = np.concatenate([np.full(len(y), w) for _, _, y, w in rows])
    # At the optimum (λ/2)‖θ‖² ≤ f(0) = 1, so without a box this one cuts nothing off.
    t = theta_max if math.isfinite(theta_max) else 2.0 * math.sqrt(2.0 / max(ridge, 1e-12))
    p = int(margins.shape[1])
    point = _Point(
        theta=np.zeros(p),
        xi=np.full(len(weight), 2.0),
        alpha=0.5 * weight,
        above=np.full(p, float(weight.mean()) / t),
        below=np.full(p, float(weight.mean()) / t),
    )
    best, best_gap, lower = point.theta, math.inf, -math.inf
    for _ in range(300):
        theta = point.theta
        shortfall = np.maximum(0.0, 1.0 - margins @ theta)
        value = float(0.5 * ridge * theta @ theta + weight @ shortfall)
        lower = max(lower, _lower_bound(ridge, theta_max, point.alpha, margins.T @ point.alpha))
        if value - lower < best_gap:
            best, best_gap = theta, value - lower
        if best_gap <= tolerance * value:
            break
        point = _Step(ridge, t, margins, weight, point).taken()
    return best, best_gap


@dataclass(frozen=True, eq=False)
class _Point:
    """Primal and dual variables; also a direction in their space.

    Args:
        theta: θ.
        xi: ξ, the shortfalls.
        alpha: α, the multipliers of ξ + yθᵀx ≥ 1; those of ξ ≥ 0 are ω − α.
        above: the multipliers of θ ≥ −t.
        below: the multipliers of θ ≤ t.
    """

    theta: FloatArray
    xi: FloatArray
    alpha: FloatArray
    above: FloatArray
    below: FloatArray

    def moved(self, length: float, by: "_Point") -> "_Point":
        return _Point(
            self.theta + length * by.theta,
            self.xi + length * by.xi,
            self.alpha + length * by.alpha,
            self.above + length * by.above,
            self.below + length * by.below,
        )


class _Step:
    """One predictor-corrector step (Mehrotra) from a strictly feasible point."""

    def __init__(
        self, ridge: float, t: float, margins: FloatArray, weight: FloatArray, at: _Point
    ) -> None:
        self.margins, self.at = margins, at
        self.slack = at.xi + margins @ at.theta - 1.0
        self.beta = weight - at.alpha
        self.low, self.high = at.theta + t, t - at.theta
        self.residual = ridge * at.theta - margins.T @ at.alpha - at.above + at.below
        self.divisor = self.slack + at.alpha * at.xi / self.beta
        self.w = at.alpha / self.divisor
        system = _weighted_gram(margins, self.w)
        diagonal = np.diag_indices_from(system)
        system[diagonal] += ridge + at.above / self.low + at.below / self.high
        system[diagonal] += 1e-14 * np.trace(system)
        self.factor: Any = cho_factor(system)

    def taken(self) -> _Point:
        """Return the next point."""
        straight = self._direction(0.0, None)
        now = self._products(0.0, straight)
        then = self._products(self._length(straight), straight)
        count = 2 * len(self.beta) + 2 * len(self.low)
        direction = self._direction((then / now) ** 3 * now / count, straight)
        return self.at.moved(0.995 * self._length(direction), direction)

    def _direction(self, mu: float, second: _Point | None) -> _Point:
        """Solve the linearised optimality conditions for products of size μ."""
        at = self.at
        r1, r2 = mu - at.alpha * self.slack, mu - self.beta * at.xi
        r3, r4 = mu - at.above * self.low, mu - at.below * self.high
        if second is not None:
            r1 = r1 - second.alpha * (second.xi + self.margins @ second.theta)
            r2 = r2 + second.alpha * second.xi
            r3, r4 = r3 - second.above * second.theta, r4 + second.below * second.theta
        c = (r1 - at.alpha * r2 / self.beta) / self.divisor
        right = -self.residual + self.margins.T @ c + r3 / self.low - r4 / self.high
        theta = cast(FloatArray, cho_solve(self.factor, right))
        alpha = c - self.w * (self.margins @ theta)
        return _Point(
            theta,
            (r2 + at.xi * alpha) / self.beta,
            alpha,
            (r3 - at.above * theta) / self.low,
            (r4 + at.below * theta) / self.high,
        )

    def _length(self, d: _Point) -> float:
        """Return the longest step in [0, 1] that keeps everything non-negative."""
        at = self.at
        return min(
            _reach(at.xi, d.xi),
            _reach(self.slack, d.xi + self.margins @ d.theta),
            _reach(self.low, d.theta),
            _reach(self.high, -d.theta),
            _reach(at.alpha, d.alpha),
            _reach(self.beta, -d.alpha),
            _reach(at.above, d.above),
            _reach(at.below, d.below),
        )

    def _products(self, length: float, d: _Point) -> float:
        """Return the sum of all complementarity products after a step."""
        at = self.at.moved(length, d)
        slack = self.slack + length * (d.xi + self.margins @ d.theta)
        return float(
            at.alpha @ slack
            + (self.beta - length * d.alpha) @ at.xi
            + at.above @ (self.low + length * d.theta)
            + at.below @ (self.high - length * d.theta)
        )


def _lower_bound(ridge: float, theta_max: float, alpha: FloatArray, v: FloatArray) -> float:
    """Return D(α), with v = Σ α_i y_i x_i."""
    if ridge > 0:
        inner = np.clip(v / ridge, -theta_max, theta_max)
    elif math.isfinite(theta_max):
        inner = theta_max * np.sign(v)
    else:
        return -math.inf
    return float(alpha.sum() + np.sum(0.5 * ridge * inner * inner - v * inner))


def _weighted_gram(x: FloatArray, weight: FloatArray) -> FloatArray:
    total = np.zeros((x.shape[1], x.shape[1]))
    for start in range(0, len(x), _BLOCK):
        block = x[start : start + _BLOCK]
        total += block.T @ (weight[start : start + _BLOCK, None] * block)
    return total


def _reach(value: FloatArray, change: FloatArray) -> float:
    """Return the longest step in [0, 1] that keeps value + step · change ≥ 0."""
    falling = change < 0
    return min(1.0, float(np.min(value[falling] / -change[falling], initial=1.0)))
