"""What a trained model is measured with: f, ψ, and the three models it has to beat."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness.problem import Problem
from treaty.fitness.risk import Risk, pooled
from treaty.fitness.solver import Optimum, optimum

PSI_IN_WORDS = (
    "ψ: the share by which a model's mean loss over all records is above the best one's; 0 is best."
)


@dataclass(frozen=True, eq=False)
class Yardstick:
    """f and ψ over the union of the owners' records.

    Computing it needs everybody's records at once: it is for simulations, stand-ins and
    experiments, never for a live collaboration.

    Args:
        problem: what is being learnt.
        union: the risk over all records.
        best: θ* and f(θ*).
    """

    problem: Problem
    union: Risk
    best: Optimum

    def fitness(self, theta: FloatArray) -> FloatArray:
        """Return f(θ) for each θ."""
        return self.problem.penalty(theta) + self.union.value(theta)

    def relative(self, theta: FloatArray) -> FloatArray:
        """Return ψ(θ) = f(θ)/f(θ*) − 1 for each θ."""
        if self.best.value <= 0:
            raise TreatyError(
                "ψ has no meaning here: the best model fits every record perfectly, f(θ*) = 0"
            )
        return self.fitness(theta) / self.best.value - 1.0


def yardstick(
    problem: Problem, risks: Mapping[str, Risk], shares: Sequence[float] | None = None
) -> Yardstick:
    """Build the yardstick of a set of owners.

    Args:
        problem: what is learnt.
        risks: their records.
        shares: how much each counts; by default by its number of records. Stand-in records are
            counted by the numbers they stand in for.
    """
    union = pooled(list(risks.values()), shares).with_loss(problem.fitness_loss)
    return Yardstick(problem, union, optimum(problem, union))


def model_alone(problem: Problem, risk: Risk) -> FloatArray:
    """Return the best model an owner can have of its own records, without noise.

    Also the public-only model, when the risk is that of the public rows.
    """
    return optimum(problem, risk).theta


def best_constant(problem: Problem, risk: Risk) -> FloatArray:
    """Return the best model that ignores every feature: only the intercept, or 0 without one."""
    theta = np.zeros(problem.dimension)
    if problem.intercept is not None:
        only = risk.with_loss(problem.fitness_loss).column(problem.intercept)
        theta[problem.intercept] = optimum(problem, only).theta[0]
    return theta
