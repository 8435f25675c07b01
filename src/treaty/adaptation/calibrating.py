"""Chances as they come true: the slope and the level of a model's scores, by records it has not seen.

A ridge holds all directions back alike, the one that a model goes by among them, about which its records
say most: where a label is rare, the chances that it gives lie too near the middle. So the model's scores
s are stretched to a·(s − c) + t, with a and t by logistic regression on the scores that parts of the
records get from models made without them.

References:
    Cox: Two further applications of a model for binary regression, 1958.
    Steyerberg: Clinical Prediction Models, 2019, chapter 15.
"""

from dataclasses import replace

import numpy as np

from treaty.adaptation.anchored import AnchoredRisk
from treaty.adaptation.metrics import Metric
from treaty.adaptation.own_records import OwnRecords
from treaty.arrays import FloatArray
from treaty.fitness import RowRisk
from treaty.fitness.solver import newton
from treaty.matrices import scores

SLOPE, LEVEL = 0.3, 1.0
"""By how much slope and level are believed to be off before any score is seen: standard deviations."""
EXACT = 1e-9


def calibrated(
    records: OwnRecords,
    theta: FloatArray,
    metric: Metric,
    strength: float,
    left_out: frozenset[int],
) -> FloatArray:
    """Return a model of own records alone with its scores stretched to the slope and level that hold.

    Args:
        records: the owner's own.
        theta: a model of them with a constant column, held near nothing.
        metric: in which metric it is held.
        strength: how strongly.
        left_out: parts of the records that nothing is to be seen of.
    """
    constant = records.problem.intercept
    assert constant is not None
    inner = [k for k in records.parts if k not in left_out]
    seen: list[FloatArray] = []
    labels: list[FloatArray] = []
    for k in inner:
        rows = records.rows[k]
        path = records.path(metric, left_out | {k})
        model = path.models(np.zeros((1, len(theta))), [strength])[0, 0]
        seen.append(scores(records.x[rows], model))
        labels.append(records.y[rows])
    unseen, label = np.concatenate(seen), np.concatenate(labels)
    centre = float(np.mean(unseen))
    slope, level = _line(records, unseen - centre, label, centre)
    # The constant column has the same number in every row.
    unit = float(scores(records.x[records.rows[inner[0]][:1]], np.eye(len(theta))[constant])[0])
    stretched = slope * theta
    stretched[constant] += (level - slope * centre) / unit
    return stretched


def _line(
    records: OwnRecords, apart: FloatArray, label: FloatArray, centre: float
) -> tuple[float, float]:
    """Return a and t of the scores a·(s − c) + t, given s − c, under which the labels are likeliest."""
    loss, number = records.problem.fitness_loss, len(label)
    expected = np.array([1.0, centre])
    held = np.diag([1.0 / SLOPE**2, 1.0 / LEVEL**2]) / number
    risk = RowRisk(loss, np.column_stack([apart, np.ones(number)]), label)
    free = replace(records.problem, ridge=0.0, theta_max=np.inf)
    slope, level = newton(free, AnchoredRisk(risk, expected, held), expected, EXACT)[0]
    return max(0.0, float(slope)), float(level)
