"""The papers' forecasts: bounds on the cost of privacy from public numbers alone.

Each says what the optimisation leaves and what the noise adds, both as a cost of privacy
f(θ) − f(θ*). They are valid for every horizon, because the terms the papers call small are kept, and
they carry the dimension: E‖w‖² = 2pb² for p parameters, where both papers write 2b². With
`as_published=True` the dimension is left out again and, where the paper does, so is the optimisation.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from treaty.arrays import FloatArray
from treaty.learners import Learner, Plan
from treaty.learners.geometry import declared_geometry


@dataclass(frozen=True)
class Bound:
    """An upper bound of E f(θ) − f(θ*).

    Args:
        theorem: where it comes from.
        optimisation: what would be left without any noise.
        noise: what the noise can add.
    """

    theorem: str
    optimisation: float
    noise: float

    @property
    def total(self) -> float:
        """Both together."""
        return self.optimisation + self.noise


def bound_for(plan: Plan, learner: Learner, *, as_published: bool = False) -> Bound:
    """Return the bound that the papers give for a plan's method, started at 0.

    Args:
        plan: the plan.
        learner: its learner, for the step sizes it uses.
        as_published: without the dimension, as the papers print it.
    """
    of: dict[str, Callable[[Plan, Learner, bool], Bound]] = {
        "shrinking-steps": _smooth,
        "averaged-subgradient": _averaged,
        "one-at-a-time": _asynchronous,
    }
    return of[plan.method](plan, learner, as_published)


@dataclass(frozen=True)
class _Numbers:
    """The public numbers that all three theorems need."""

    p: int
    noise: float
    distance: float
    diameter: float
    steepest: float
    start_cost: float

    @classmethod
    def of(cls, plan: Plan, as_published: bool) -> "_Numbers":
        problem = plan.problem
        variances = np.array([plan.mechanism.variance(scale) for scale in plan.scales])
        factor = 1 if as_published else problem.dimension
        geometry = declared_geometry(problem, np.zeros(problem.dimension))
        ends = np.array(problem.domain.target)
        return cls(
            p=problem.dimension,
            noise=float(factor * (plan.shares**2 @ variances)),
            distance=geometry.distance,
            diameter=2 * problem.theta_max * math.sqrt(problem.dimension),
            steepest=geometry.gradient,
            start_cost=float(problem.loss_at_zero(ends).max()),
        )


def _smooth(plan: Plan, learner: Learner, as_published: bool) -> Bound:
    """W Theorem 2, for a λ-smooth and L-strongly convex f and steps ρ_k = ρ/(T²k) ≤ 1/λ.

    Published: (8Ξ²ρ/(Ln²)) Σ 1/ε_i² for a large enough T. Kept here: the recursion behind it. Without
    a box Δ_{k+1} ≤ (1 − Lρ_k)Δ_k + (λ/2)ρ_k²E‖w‖² for Δ = E f − f*; with one, distances obey
    d²_{k+1} ≤ (1 − Lρ_k)²d²_k + ρ_k²E‖w‖², and f − f* ≤ sup‖∇f‖·d.
    """
    name = "W Theorem 2"
    n, problem, T = _Numbers.of(plan, as_published), plan.problem, plan.horizon
    rho, L, smooth = learner.step_sizes["rho"], problem.ridge, problem.smoothness
    if as_published:
        # Σ (n_i/n)²·2b_i² = 8Ξ²T²/n² Σ 1/ε_i²
        return Bound(name, 0.0, math.inf if L == 0 else rho * n.noise / (T**2 * L))
    steps = rho / (T**2 * np.arange(1, max(2, T)))
    if steps[0] > 1 / smooth * (1 + 1e-9):
        return Bound(name, math.inf, math.inf)
    if T == 1:
        return Bound(name, n.start_cost, 0.0)
    if math.isinf(problem.theta_max):
        left, added = n.start_cost, 0.0
        for step in steps:
            left *= 1 - L * step
            added = (1 - L * step) * added + 0.5 * smooth * step**2 * n.noise
        return Bound(name, left, added)
    left, added = n.distance**2, 0.0
    for step in steps:
        left *= (1 - L * step) ** 2
        added = (1 - L * step) ** 2 * added + step**2 * n.noise
    without = n.steepest * math.sqrt(left)
    return Bound(name, without, n.steepest * math.sqrt(left + added) - without)


def _averaged(plan: Plan, learner: Learner, as_published: bool) -> Bound:
    """W Theorem 3, for any convex f, steps c₁/√k and the averaging weights ζ_k of W-2.

    With D the diameter of Θ, G the largest ‖∂f‖ and K = T − 1: f(θ̄) − f* ≤ Σ ζ_k (f(θ_k) − f*), and
    summing (‖θ_k − θ*‖² − ‖θ_{k+1} − θ*‖²)√k/(2c₁) by parts, with ζ_k√k increasing, gives

        E f(θ̄) − f* ≤ ζ_K√K D²/(2c₁) + (c₁/2) Σ (ζ_k/√k)(G² + E‖w‖²).
    """
    n, T = _Numbers.of(plan, as_published), plan.horizon
    c1 = learner.step_sizes["c1"]
    if T == 1:
        return Bound("W Theorem 3", n.start_cost, 0.0)
    zeta, root = averaging_weights(T), np.sqrt(np.arange(1, T))
    per_square = 0.5 * c1 * float(np.sum(zeta / root))
    travel = float(zeta[-1] * root[-1]) * n.diameter**2 / (2 * c1)
    return Bound("W Theorem 3", travel + per_square * n.steepest**2, per_square * n.noise)


def averaging_weights(horizon: int) -> FloatArray:
    """Return ζ_k, the weight of θ[k] in the model θ̄ of W-2; they sum to 1 and increase."""
    root = 1 / math.sqrt(horizon)
    k = np.arange(1, horizon)
    kept = (k - 1) / (root + k)
    later = np.append(np.cumprod(kept[::-1])[::-1][1:], 1.0)
    return np.asarray((root + 1) / (root + k) * later, dtype=np.float64)


def _asynchronous(plan: Plan, learner: Learner, as_published: bool) -> Bound:
    """F Theorem 2 with the constants of its Appendix B.

    With α = ρ/T², C = Ξ_g + Ξ, ν_i = 2√2ΞT√p/(nε_i), S = 1 + N Σ (1 + ν_i/C)² and λ = 1 − 1/(2N) (the
    gossip matrix of a star; 0 for N = 1):

        E‖θ_L − θ*‖² ≤ (1 − α/N)^T (N+1)‖θ*‖² + (NC²/σ²)αS + (2N²C²√(N+1)/(σ²(1 − √λ)))α√S

    The first term is what the paper calls ς. f − f* ≤ sup‖∇f‖·‖θ − θ*‖.
    """
    n, problem, T = _Numbers.of(plan, as_published), plan.problem, plan.horizon
    N, sigma = len(plan.parties), problem.ridge
    C = n.steepest
    alpha = learner.step_sizes["rho"] / T**2
    factor = 1 if as_published else problem.dimension
    nu = plan.shares * np.sqrt([factor * plan.mechanism.variance(s) for s in plan.scales])
    gossip = 0.0 if N == 1 else 1 - 1 / (2 * N)

    def distance(noise: FloatArray) -> float:
        S = 1 + N * float(np.sum((1 + noise / C) ** 2))
        wide = 2 * N**2 * C**2 * math.sqrt(N + 1) / (sigma**2 * (1 - math.sqrt(gossip)))
        return N * C**2 / sigma**2 * alpha * S + wide * alpha * math.sqrt(S)

    left = 0.0 if as_published else (1 - min(1.0, alpha / N)) ** T * (N + 1) * n.distance**2
    without = C * math.sqrt(left + distance(0 * nu))
    return Bound("F Theorem 2", without, C * math.sqrt(left + distance(nu)) - without)
