"""The exact optimum θ*, with a certificate that it is one.

One method serves every loss: Newton steps, each a quadratic program over the box Θ, with an exact
line search. A loss with kinks is averaged over a window of half-width h first,

    φ_h(z) = (1/2h) ∫ φ over [z − h, z + h],   φ ≤ φ_h ≤ φ + (h/2)·sup|φ′|,

which needs nothing but φ and φ′, and h shrinks until what it costs is below the tolerance.

The certificate is a duality gap. For convex f over the box, f(θ) − f* ≤ max over u ∈ Θ of
∇f(θ)ᵀ(θ − u); for λ-strongly convex f also ≤ ‖residual‖²/(2λ), the residual being the part of −∇f
that does not push against an active bound.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, lsq_linear

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness.problem import Problem
from treaty.fitness.risk import Risk
from treaty.losses import Loss, Windowed

TOLERANCE = 1e-6
STEPS = 500
"""Where labels are told apart by a column, the optimum lies at the end of Θ and steps to it are many."""
SMALLEST = 1e-3
"""A smaller optimum counts as this much when a gap is judged: separable records have one of 0."""


PATIENCE, HALVED = 15, 0.5
"""After so many steps in which the gap was not halved, steps are taken along free coordinates alone."""
FARTHEST = 1e6
"""A step is never longer than so many times what the curvature says."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """θ*, f(θ*) and how far from the true optimum it can at most be.

    Args:
        theta: θ*.
        value: f(θ*).
        gap: an upper bound of f(θ) − min f, relative to f(θ).
    """

    theta: FloatArray
    value: float
    gap: float


def optimum(problem: Problem, risk: Risk, start: FloatArray | None = None) -> Optimum:
    """Solve the problem on these records, exactly, for the loss that fitness is measured with.

    Raises:
        TreatyError: if no point with a relative gap of at most 1e-6 is found.
    """
    risk = risk.with_loss(problem.fitness_loss)
    loss = problem.fitness_loss
    theta = problem.project(np.zeros(risk.dimension) if start is None else start.copy())
    if math.isfinite(loss.curvature_bound):
        theta, gap = newton(problem, risk, theta, 0.2 * TOLERANCE)
        smoothing = 0.0
    else:
        theta, gap, smoothing = _through_windows(problem, risk, loss, theta)
    value = float(_fitness(problem, risk, theta))
    relative = (gap + smoothing) / max(abs(value), 1e-300)
    if relative > TOLERANCE and gap + smoothing > TOLERANCE * SMALLEST:
        raise TreatyError(
            f"θ* could not be certified: the relative gap is {relative:.1e}, "
            f"above {TOLERANCE:.0e}; a smaller theta_max or a larger ridge makes the problem easier"
        )
    return Optimum(theta, value, relative)


def _fitness(problem: Problem, risk: Risk, theta: FloatArray) -> FloatArray:
    return problem.penalty(theta) + risk.value(theta)


def _gradient(problem: Problem, risk: Risk, theta: FloatArray) -> FloatArray:
    return problem.ridge * theta + risk.gradient(theta)


def _duality_gap(problem: Problem, theta: FloatArray, gradient: FloatArray) -> float:
    """Return an upper bound of f(θ) − min f over the box, from the gradient at θ alone."""
    t = problem.theta_max
    gap = math.inf
    if math.isfinite(t):
        gap = float(np.sum(gradient * theta + np.abs(gradient) * t))
    if problem.ridge > 0:
        residual = _residual(problem, theta, gradient)
        gap = min(gap, float(residual @ residual) / (2 * problem.ridge))
    return gap


def _residual(problem: Problem, theta: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return the part of the gradient that does not push against an active bound."""
    t = problem.theta_max
    pushes_out = ((theta >= t) & (gradient < 0)) | ((theta <= -t) & (gradient > 0))
    return np.where(pushes_out, 0.0, gradient)


def newton(
    problem: Problem, risk: Risk, theta: FloatArray, tolerance: float, steps: int = STEPS
) -> tuple[FloatArray, float]:
    """Minimise a smooth problem until the gap is below tolerance · f; return θ and the gap.

    Without a box and a ridge there is no rigorous gap; half the Newton decrement stands in, which
    is exact for a quadratic.
    """
    best, best_gap = theta, math.inf
    smooth = math.isfinite(problem.fitness_loss.curvature_bound)
    stalled = 0
    for _ in range(steps):
        gradient = _gradient(problem, risk, theta)
        hessian = risk.hessian(theta) + problem.ridge * np.eye(len(theta))
        # Where the loss is flat or linear the Hessian vanishes; damping that fades with the
        # gradient keeps the step finite and the convergence fast. What pushes against a bound does not
        # fade: where the loss is smooth it counts for nothing, where it has kinks it helps over them.
        left = _residual(problem, theta, gradient) if smooth else gradient
        hessian += min(1.0, float(np.linalg.norm(left))) * 1e-3 * np.eye(len(theta))
        if smooth and stalled >= PATIENCE:
            direction = _along_free(hessian, _residual(problem, theta, gradient), gradient)
        else:
            direction = lowest_in_box(hessian, gradient, theta, problem.theta_max) - theta
        gap = _duality_gap(problem, theta, gradient)
        if math.isinf(gap):
            gap = -0.5 * float(gradient @ direction)
        stalled = 0 if gap < HALVED * best_gap else stalled + 1
        if gap < best_gap:
            best, best_gap = theta, gap
        scale = max(SMALLEST, abs(float(_fitness(problem, risk, theta))))
        if best_gap <= tolerance * scale or not np.any(direction):
            break
        theta = _line_search(problem, risk, theta, direction, FARTHEST if smooth else 1.0)
    return best, best_gap


def _along_free(hessian: FloatArray, residual: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return Newton's direction along the coordinates that no bound holds back.

    Where the curvature is next to nothing in many directions, the quadratic program over the whole box
    is no longer solved exactly enough to make progress; this is, and the line search ends at the box.
    """
    free = np.flatnonzero(residual == gradient)
    direction = np.zeros(len(gradient))
    values, vectors = np.linalg.eigh(hessian[np.ix_(free, free)])
    kept = np.maximum(values, 1e-13 * max(float(values[-1]), 1e-300))
    direction[free] = -vectors @ ((vectors.T @ gradient[free]) / kept)
    return direction


def lowest_in_box(
    hessian: FloatArray, gradient: FloatArray, theta: FloatArray, theta_max: float
) -> FloatArray:
    """Return the u in the box with the least gradientᵀ(u − θ) + ½(u − θ)ᵀH(u − θ)."""
    values, vectors = np.linalg.eigh(hessian)
    kept = np.maximum(values, 1e-13 * max(values[-1], 1e-300))
    free = theta - vectors @ ((vectors.T @ gradient) / kept)
    if np.all(np.abs(free) <= theta_max):
        return free
    root = np.sqrt(kept)[:, None] * vectors.T
    answer = lsq_linear(root, root @ free, (-theta_max, theta_max), method="bvls", tol=1e-14)
    return np.clip(np.asarray(answer.x), -theta_max, theta_max)


def _line_search(
    problem: Problem, risk: Risk, theta: FloatArray, direction: FloatArray, farthest: float
) -> FloatArray:
    """Return the point on θ + t·direction, t > 0 within Θ, where the derivative along it turns.

    A step goes on past t = 1 as long as it still descends there: a log loss flattens out more slowly
    than its curvature says, so that steps would be far too short.
    """
    of_risk = risk.along(theta, direction)

    def along(t: float) -> float:
        return problem.ridge * float((theta + t * direction) @ direction) + of_risk(t)

    if along(0.0) >= 0:
        return theta + direction
    most = min(farthest, _room(theta, direction, problem.theta_max))
    end = min(1.0, most)
    while along(end) < 0:
        if end >= most:
            return problem.project(theta + end * direction)
        end = min(2.0 * end, most)
    found = float(brentq(along, 0.0, end, xtol=1e-13, rtol=1e-13))
    return problem.project(theta + found * direction)


def _room(theta: FloatArray, direction: FloatArray, theta_max: float) -> float:
    """Return the largest t with θ + t·direction in the box."""
    moving = direction != 0
    with np.errstate(over="ignore"):  # next to no movement: next to no end
        ends = (np.sign(direction[moving]) * theta_max - theta[moving]) / direction[moving]
    return max(0.0, float(ends.min())) if len(ends) else 1.0


def _through_windows(
    problem: Problem, risk: Risk, loss: Loss, theta: FloatArray
) -> tuple[FloatArray, float, float]:
    """Follow the optimum of the windowed problem as the window shrinks.

    Returns θ, the gap of the last windowed problem, and what the window itself can cost.
    """
    steepest = loss.slope_bound(problem.theta_max * problem.domain.l1, problem.domain.target)
    half_width = 1.0
    while True:
        windowed = risk.with_loss(Windowed(loss, half_width))
        scale = max(SMALLEST, abs(float(_fitness(problem, risk, theta))))
        cost = 0.5 * half_width * steepest
        done = cost <= 0.4 * TOLERANCE * scale
        tolerance = 0.4 * TOLERANCE if done else 0.1 * cost / scale
        theta, gap = newton(problem, windowed, theta, tolerance)
        if done:
            return theta, gap, cost
        half_width *= 0.5
