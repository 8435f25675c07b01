"""The measures themselves: of numbers in the user's unit, of labels by score and probability."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from treaty.arrays import FloatArray

Of = Callable[[FloatArray, FloatArray], float]


@dataclass(frozen=True)
class Measure:
    """One way to say how far predictions are off.

    Args:
        name: its short name.
        words: its name in words.
        of: its value, from what was true and what was predicted. For numbers both are in the user's
            unit; for labels the truth is −1 or +1, and the prediction a score: the logarithm of the
            odds, where the loss gives probabilities.
        rises: whether higher is better.
        in_unit: whether it is in the target's unit.
        needs_probabilities: whether scores must be logarithms of odds.
    """

    name: str
    words: str
    of: Of
    rises: bool = False
    in_unit: bool = False
    needs_probabilities: bool = False

    def loss(self, value: float) -> float:
        """Return the value as something to be lowered: 1 less the value where higher is better."""
        return 1.0 - value if self.rises else value


def _rmse(truth: FloatArray, predicted: FloatArray) -> float:
    return math.sqrt(float(np.mean(np.square(truth - predicted))))


def _mae(truth: FloatArray, predicted: FloatArray) -> float:
    return float(np.mean(np.abs(truth - predicted)))


def _r2(truth: FloatArray, predicted: FloatArray) -> float:
    spread = float(np.var(truth))
    return 1.0 - float(np.mean(np.square(truth - predicted))) / spread if spread > 0 else math.nan


def _auc(truth: FloatArray, predicted: FloatArray) -> float:
    from sklearn import metrics

    of = cast(Any, metrics.roc_auc_score)
    return float(of(truth > 0, predicted)) if _both(truth) else math.nan


def _average_precision(truth: FloatArray, predicted: FloatArray) -> float:
    from sklearn import metrics

    of = cast(Any, metrics.average_precision_score)
    return float(of(truth > 0, predicted)) if _both(truth) else math.nan


def _log_loss(truth: FloatArray, predicted: FloatArray) -> float:
    return float(np.mean(np.logaddexp(0.0, -truth * predicted)))


def _error_rate(truth: FloatArray, predicted: FloatArray) -> float:
    return float(np.mean(np.not_equal(predicted > 0, truth > 0)))


def _both(truth: FloatArray) -> bool:
    return bool(np.any(truth > 0) and np.any(truth < 0))


NUMBERS = (
    Measure("rmse", "root mean squared error", _rmse, in_unit=True),
    Measure("mae", "mean absolute error", _mae, in_unit=True),
    Measure("r2", "R², the share of the variance that is explained", _r2, rises=True),
)
LABELS = (
    Measure("log_loss", "log loss", _log_loss, needs_probabilities=True),
    Measure("auc", "AUC, how often a yes is ranked above a no", _auc, rises=True),
    Measure("average_precision", "average precision", _average_precision, rises=True),
    Measure("error_rate", "error rate", _error_rate),
)
MEASURES = {measure.name: measure for measure in (*NUMBERS, *LABELS)}


def measures_for(*, labels: bool, probabilities: bool = False) -> tuple[Measure, ...]:
    """Return the measures of a kind of target, the one that decides first.

    Args:
        labels: whether targets are labels.
        probabilities: whether the loss gives probabilities.
    """
    if not labels:
        return NUMBERS
    return tuple(m for m in LABELS if probabilities or not m.needs_probabilities)


def main_measure(*, labels: bool, probabilities: bool = False) -> Measure:
    """Return the measure that decides: the root mean squared error, log loss, or AUC without odds."""
    return measures_for(labels=labels, probabilities=probabilities)[0]
