"""The papers' forecasts: bounds on the cost of privacy from public numbers alone.

Each says what the optimisation leaves and what the noise adds, both as a cost of privacy
f(θ) − f(θ*). They are valid for every horizon, because the terms the papers call small are kept, and
they carry the dimension: E‖w‖² = 2pb² for p parameters, where both papers write 2b². As published, the
dimension is left out again and, where the paper does, so is the optimisation.
"""

import math
from dataclasses import dataclass

import numpy as np

from treaty.fitness import Problem
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


@dataclass(frozen=True)
class PublicNumbers:
    """The public numbers that the theorems need, for a learner that begins at 0.

    Args:
        noise: E‖w‖² of the noise in the mean of all answers; as published, without the dimension.
        distance: how far the optimum may lie from 0.
        diameter: of Θ.
        steepest: the largest ‖∇f‖ over Θ: Ξ₂ + λ·θ_max√p, however far noise drives a model.
        start_cost: the largest f(0).
    """

    noise: float
    distance: float
    diameter: float
    steepest: float
    start_cost: float

    @classmethod
    def of(cls, problem: Problem, noise: float, as_published: bool) -> "PublicNumbers":
        """Return the numbers of a problem, from what its loss declares."""
        radius = problem.theta_max * math.sqrt(problem.dimension)
        ends = np.array(problem.domain.target)
        return cls(
            noise=noise / problem.dimension if as_published else noise,
            distance=declared_geometry(problem, np.zeros(problem.dimension)).distance,
            diameter=2 * radius,
            steepest=problem.gradient_bound("l2")
            + (problem.ridge * radius if problem.ridge else 0.0),
            start_cost=float(problem.loss_at_zero(ends).max()),
        )
