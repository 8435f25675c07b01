"""The exact linear support vector machine over a box, by a primal-dual interior-point method.

    minimise (λ/2)‖θ‖² + Σ ω_i ξ_i   subject to   ξ_i ≥ 0,  ξ_i + y_i θᵀx_i ≥ 1,  |θ_j| ≤ t

Each iteration solves one p × p system. Every α with 0 ≤ α_i ≤ ω_i gives a lower bound,

    D(α) = Σ α_i + Σ_j min over |θ_j| ≤ t of (λ/2)θ_j² − v_j θ_j,    v = Σ α_i y_i x_i,

so that f(θ) − D(α) certifies the answer.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from treaty.arrays import FloatArray

_BLOCK = 8192


def solve_svm(
    ridge: float,
    theta_max: float,
    rows: Sequence[tuple[FloatArray, FloatArray, float]],
    tolerance: float,
) -> tuple[FloatArray, float]:
    """Return θ* and its certified duality gap (absolute).

    Args:
        ridge: λ ≥ 0.
        theta_max: t; may be infinite if λ > 0.
        rows: sets of rows (x, y, ω), ω being the weight of one row.
        tolerance: the gap to reach, relative to the optimum.
    """
    margins = np.concatenate([x * y[:, None] for x, y, _ in rows])
    weight = np.concatenate([np.full(len(y), w) for _, y, w in rows])
    # At the optimum (λ/2)‖θ‖² ≤ f(0) = 1, so without a box this one cuts nothing off.
    t = theta_max if math.isfinite(theta_max) else 2.0 * math.sqrt(2.0 / max(ridge, 1e-12))
    theta = np.zeros(margins.shape[1])
    xi = np.full(len(weight), 2.0)
    alpha = 0.5 * weight
    above = np.full(len(theta), weight.mean() / t)
    below = above.copy()
    best, best_gap = theta, math.inf
    lower = -math.inf
    for _ in range(300):
        score = margins @ theta
        value = 0.5 * ridge * theta @ theta + weight @ np.maximum(0.0, 1.0 - score)
        lower = max(lower, _lower_bound(ridge, theta_max, alpha, margins.T @ alpha))
        if value - lower < best_gap:
            best, best_gap = theta, float(value - lower)
        if best_gap <= tolerance * value:
            break
        slack, beta = xi + score - 1.0, weight - alpha
        room_low, room_high = theta + t, t - theta
        residual = ridge * theta - margins.T @ alpha - above + below
        divisor = slack + alpha * xi / beta
        w = alpha / divisor
        system = _weighted_gram(margins, w)
        system[np.diag_indices_from(system)] += ridge + above / room_low + below / room_high
        system[np.diag_indices_from(system)] += 1e-14 * np.trace(system)
        factor = cho_factor(system)

        def step(
            mu: float, second: tuple[FloatArray, ...] | None, factor: object = factor
        ) -> tuple[FloatArray, ...]:
            r1, r2 = mu - alpha * slack, mu - beta * xi
            r3, r4 = mu - above * room_low, mu - below * room_high
            if second is not None:
                d_theta, d_xi, d_alpha, d_above, d_below = second
                r1 = r1 - d_alpha * (d_xi + margins @ d_theta)
                r2 = r2 + d_alpha * d_xi
                r3, r4 = r3 - d_above * d_theta, r4 + d_below * d_theta
            c = (r1 - alpha * r2 / beta) / divisor
            d_theta = cho_solve(factor, -residual + margins.T @ c + r3 / room_low - r4 / room_high)
            d_alpha = c - w * (margins @ d_theta)
            d_xi = (r2 + xi * d_alpha) / beta
            d_above = (r3 - above * d_theta) / room_low
            d_below = (r4 + below * d_theta) / room_high
            return d_theta, d_xi, d_alpha, d_above, d_below

        def lengths(d: tuple[FloatArray, ...]) -> tuple[float, float]:
            d_theta, d_xi, d_alpha, d_above, d_below = d
            primal = min(
                _reach(xi, d_xi),
                _reach(slack, d_xi + margins @ d_theta),
                _reach(room_low, d_theta),
                _reach(room_high, -d_theta),
            )
            dual = min(
                _reach(alpha, d_alpha),
                _reach(beta, -d_alpha),
                _reach(above, d_above),
                _reach(below, d_below),
            )
            return primal, dual

        def products(primal: float, dual: float, d: tuple[FloatArray, ...]) -> float:
            d_theta, d_xi, d_alpha, d_above, d_below = d
            return float(
                (alpha + dual * d_alpha) @ (slack + primal * (d_xi + margins @ d_theta))
                + (beta - dual * d_alpha) @ (xi + primal * d_xi)
                + (above + dual * d_above) @ (room_low + primal * d_theta)
                + (below + dual * d_below) @ (room_high - primal * d_theta)
            )

        count = 2 * len(weight) + 2 * len(theta)
        straight = step(0.0, None)
        now = products(0.0, 0.0, straight)
        then = products(*lengths(straight), straight)
        mu = (then / now) ** 3 * now / count
        d = step(mu, straight)
        primal, dual = (0.995 * length for length in lengths(d))
        # The quadratic term couples θ to the dual residual: one length for both keeps it exact.
        both = min(primal, dual)
        theta = theta + both * d[0]
        xi = xi + both * d[1]
        alpha = alpha + both * d[2]
        above, below = above + both * d[3], below + both * d[4]
    return best, best_gap


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
