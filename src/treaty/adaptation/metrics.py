"""In which metric an owner's own model stays near to another one."""

import math
from dataclasses import dataclass

import numpy as np

from treaty.arrays import FloatArray
from treaty.fitness import Problem, Risk, curvature_of
from treaty.fitness.risk import has_moments
from treaty.losses import Squared

FLAT = 0.01
"""The share of its largest curvature that a loss is taken to have everywhere."""
DIAGONAL = 0.1
"""How far a metric is shrunk towards its diagonal: columns that few rows have are not left free."""

FURTHER = (0.1, 1.0, 10.0, 1e6)
"""What being away from 0 costs in further columns, over what it costs in the others."""


@dataclass(frozen=True, eq=False)
class Metric:
    """What being away from a model by d costs: ½dᵀMd.

    Args:
        name: what tells it from other metrics of the same records.
        matrix: M.
        level_free: whether a constant shift of all predictions costs nothing.
    """

    name: str
    matrix: FloatArray
    level_free: bool = False


def in_predictions(problem: Problem, rows: Risk, theta: FloatArray) -> tuple[Metric, ...]:
    """Return the metrics of predictions on some rows: with the level held, and with it free.

    M is the curvature of the mean loss of the rows at a model: ½dᵀMd is by how much predictions differ,
    as the loss sees it. With the level free, a constant shift of all predictions costs nothing.

    Args:
        problem: what is learnt.
        rows: public rows; or, without any, the owner's own.
        theta: where the curvature is taken.
    """
    curvature = _bend(problem, rows, theta)
    diagonal = np.diag(np.diag(curvature))
    held = (1 - DIAGONAL) * curvature + DIAGONAL * diagonal
    held += 1e-6 * float(np.trace(held)) / len(held) * np.eye(len(held))
    metrics = [Metric("level held", held)]
    if problem.intercept is not None:
        free = without_level(held, problem.intercept)
        metrics.append(Metric("level free", free, level_free=True))
    return tuple(metrics)


def by_columns(
    problem: Problem, rows: Risk, theta: FloatArray, name: str, filled: FloatArray | None = None
) -> Metric:
    """Return the metric of an ordinary ridge: every column by its own size, the level free.

    Args:
        problem: what is learnt.
        rows: the records.
        theta: where the curvature is taken.
        name: what tells it from other metrics of the same records.
        filled: of each column, which share of the records has another number than 0 there; with it, a
            column's size is that in these records alone: what few records have is held more strongly.
    """
    sizes = np.diag(_bend(problem, rows, theta))
    if filled is not None:
        sizes = sizes / np.maximum(filled, 1e-9)
    matrix = np.diag(sizes + 1e-6 * float(sizes.mean()))
    if problem.intercept is not None:
        matrix = without_level(matrix, problem.intercept)
    return Metric(name, matrix, level_free=problem.intercept is not None)


def widened(metric: Metric, columns: Metric) -> tuple[Metric, ...]:
    """Return a metric with further columns, each by its own size, at several costs.

    At the last of these costs they are as good as left out.

    Args:
        metric: of the first columns.
        columns: of all of them, as an ordinary ridge has it.
    """
    width = len(metric.matrix)
    if width == len(columns.matrix):
        return (metric,)
    found: list[Metric] = []
    for cost in FURTHER:
        matrix = cost * columns.matrix
        matrix[:width, :width] = metric.matrix
        matrix[:width, width:] = matrix[width:, :width] = 0.0
        name = f"{metric.name}, further columns at {cost:g}"
        found.append(Metric(name, matrix, metric.level_free))
    return tuple(found)


def _bend(problem: Problem, rows: Risk, theta: FloatArray) -> FloatArray:
    """Return the curvature of the mean loss, and a little of mean xxᵀ where it may be flat.

    A loss with kinks is flat almost everywhere: mean xxᵀ stands for its curvature.
    """
    loss = problem.fitness_loss
    if has_moments(loss):
        return curvature_of(problem, rows, theta)
    gram = 0.5 * rows.with_loss(Squared()).hessian(theta)
    if math.isinf(loss.curvature_bound):
        return gram
    return curvature_of(problem, rows, theta) + FLAT * loss.curvature_bound * gram


def without_level(matrix: FloatArray, intercept: int) -> FloatArray:
    """Return the metric min over t of (d + te)ᵀM(d + te): a shift of the constant column is free."""
    moved = matrix[intercept]
    free = matrix - np.outer(moved, moved) / moved[intercept]
    free[intercept, :] = free[:, intercept] = 0.0
    return free
