"""The curvature of the mean loss, for losses with kinks as well."""

import math

from treaty.arrays import FloatArray
from treaty.fitness.problem import Problem
from treaty.fitness.risk import Risk
from treaty.losses import Clipped, Loss, Windowed

WINDOW = 0.5
"""Half the width over which a loss with kinks is averaged to speak of its curvature."""


def smoothed(loss: Loss) -> Loss:
    """Return the loss, or its average over a window if it has kinks; a clip stays outside of it."""
    if isinstance(loss, Clipped):
        return loss.of(smoothed(loss.loss))
    return Windowed(loss, WINDOW) if math.isinf(loss.curvature_bound) else loss


def curvature_of(problem: Problem, risk: Risk, theta: FloatArray) -> FloatArray:
    """Return the Hessian of the mean loss that fitness is measured with, at one θ."""
    return risk.with_loss(smoothed(problem.fitness_loss)).hessian(theta)
