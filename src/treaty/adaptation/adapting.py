"""An owner's own model, shrunk towards a shared one as far as its own records say."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from treaty.adaptation.calibrating import calibrated
from treaty.adaptation.metrics import Metric, by_columns, widened
from treaty.adaptation.own_records import OwnRecords
from treaty.adaptation.path import STRONGEST
from treaty.arrays import FloatArray
from treaty.fitness.risk import has_moments

Near = Literal["shared", "public", "nothing"]
STRENGTHS = (*np.geomspace(1e-3, 1e3, 19).tolist(), math.inf)
"""λ that are tried: from 1/1000 of the shared model's own curvature to nothing but the shared model."""
FEW = 100.0
"""Of so many records or fewer a model as it is stays, unless another is better by a standard error."""
TRIFLE = 0.02
"""A share of the mean loss by which one model may be better than another without being chosen."""
FEWER = (*np.geomspace(1e-2, 1e2, 9).tolist(), math.inf)
"""Those that are tried where each has to be solved by itself."""


@dataclass(frozen=True, eq=False)
class Adapted:
    """A model of an owner's own.

    Args:
        theta: θ.
        strength: λ; infinite for the very model it is held near to, at the owner's own level if that is
            free.
        metric: in which metric it is held near.
        score: the mean loss on parts of the own records that were left out in turn, and what is added
            to it for a weak ridge.
        near: what it is held near to: the shared model, the public one, or nothing, which is the model
            of the own records alone.
        parts: the mean loss on each of these parts.
    """

    theta: FloatArray
    strength: float
    metric: Metric
    score: float
    near: Near = "shared"
    parts: FloatArray = field(default_factory=lambda: np.zeros(0))

    @property
    def pull(self) -> FloatArray:
        """The matrix K of ½(θ − θ₀)ᵀK(θ − θ₀) that it was found with."""
        return min(self.strength, STRONGEST) * self.metric.matrix


def alone(records: OwnRecords, left_out: frozenset[int] = frozenset()) -> Adapted:
    """Return what a sensible analyst makes of the own records alone: a ridge, by cross-validation.

    Chances of labels are calibrated besides, by the parts that each of the models has not seen.
    """
    metrics = [_by_columns(records, left_out)]
    filled = records.filled(left_out)
    if filled is not None:
        metrics.append(_by_columns(records, left_out, filled))
    # The level is free: whatever constant is best is found on the way.
    nothing = np.zeros((1, records.problem.dimension))
    found = replace(_nearest(records, nothing, metrics, left_out)[0], near="nothing")
    loss, constant = records.problem.fitness_loss, records.problem.intercept
    smooth = math.isfinite(loss.curvature_bound)
    if not (loss.labels and smooth) or constant is None or math.isinf(found.strength):
        return found
    theta = calibrated(records, found.theta, found.metric, found.strength, left_out)
    return replace(found, theta=theta)


def _by_columns(
    records: OwnRecords, left_out: frozenset[int], filled: FloatArray | None = None
) -> Metric:
    nothing = np.zeros(records.problem.dimension)
    name = f"columns without {sorted(left_out)}" + (", where filled" if filled is not None else "")
    return by_columns(records.problem, records.without(left_out), nothing, name, filled)


def adapt(
    records: OwnRecords,
    anchors: FloatArray,
    metrics: Sequence[Metric],
    left_out: frozenset[int] = frozenset(),
    *,
    public: FloatArray | None = None,
) -> list[Adapted]:
    """Adapt shared models to an owner's own records, by cross-validation on them.

    Each is a model near the shared one; or, where the own records speak against that, one near the
    public model, or that of the own records alone: a shared model takes nothing away.

    Args:
        records: the owner's own.
        anchors: the shared models, shape (models, p); own columns that they do not know count as 0.
        metrics: in which metrics a model may be held near.
        left_out: parts of the records that nothing is to be seen of.
        public: the public model, if there is one.
    """
    without = [alone(records, left_out)]
    columns = _by_columns(records, left_out)
    metrics = [wide for metric in metrics for wide in widened(metric, columns)]
    if public is not None:
        near_public = _nearest(records, public[None], metrics, left_out)[0]
        without.append(replace(near_public, near="public"))
    near = _nearest(records, anchors, metrics, left_out, as_it_is=True)
    return [_clearly_best(model, without, records, left_out) for model in near]


def _clearly_best(
    model: Adapted, others: Sequence[Adapted], records: OwnRecords, left_out: frozenset[int]
) -> Adapted:
    """Return a model, or another one that is clearly better: of few records chance makes any so."""
    best = min(others, key=lambda one: one.score)
    few = _fewness(records, left_out)
    return best if best.score < model.score - few * _chance(best.parts, model.parts) else model


def _fewness(records: OwnRecords, left_out: frozenset[int]) -> float:
    """Return 1 for up to a hundred records, and ever less for more: by how many chance counts."""
    seen = sum(records.part(k).n for k in records.parts if k not in left_out)
    return min(1.0, FEW / seen)


def _chance(one: FloatArray, other: FloatArray) -> float:
    """Return by how much two models may differ by chance: the standard error, from part to part.

    Where single records are far off it is large, and hides what matters: a difference of more than a
    trifle counts whatever chance may be.
    """
    if len(one) < 2:
        return 0.0
    error = float(np.std(one - other, ddof=1)) / math.sqrt(len(one))
    return min(error, TRIFLE * float(np.mean(one)))


def _nearest(
    records: OwnRecords,
    anchors: FloatArray,
    metrics: Sequence[Metric],
    left_out: frozenset[int],
    *,
    as_it_is: bool = False,
) -> list[Adapted]:
    """Return the model near each anchor that does best on parts left out in turn.

    Args:
        records: the owner's own.
        anchors: the models, shape (models, p).
        metrics: in which metrics a model may be held near.
        left_out: parts of the records that nothing is to be seen of.
        as_it_is: whether, of few records, an anchor stays as it is unless another is clearly better.
    """
    anchors = records.wide(anchors)
    inner = [k for k in records.parts if k not in left_out]
    strengths = STRENGTHS if has_moments(records.problem.fitness_loss) else FEWER
    parts = np.zeros((len(inner), len(anchors), len(metrics), len(strengths)))
    for place, k in enumerate(inner):
        for j, metric in enumerate(metrics):
            models = records.path(metric, left_out | {k}).models(anchors, strengths)
            parts[place, :, j] = records.part(k).value(models)
    sizes = np.array([float(records.part(k).n) for k in inner])
    seen = int(sizes.sum())
    scores = np.tensordot(sizes / seen, parts, 1)
    scores += _for_weakness(records, strengths, scores.min(axis=(1, 2), keepdims=True), seen)
    chosen: list[Adapted] = []
    held = next((j for j, metric in enumerate(metrics) if not metric.level_free), 0)
    few = _fewness(records, left_out) if as_it_is else 0.0
    for place, (anchor, score) in enumerate(zip(anchors, scores, strict=True)):
        j, s = (int(index) for index in np.unravel_index(int(score.argmin()), score.shape))
        best, stays = parts[:, place, j, s], parts[:, place, held, -1]
        if few and score[held, -1] <= score[j, s] + few * _chance(best, stays):
            j, s, best = held, len(strengths) - 1, stays
        theta = records.path(metrics[j], left_out).exact(anchor, strengths[s])
        chosen.append(Adapted(theta, strengths[s], metrics[j], float(score[j, s]), parts=best))
    return chosen


def _for_weakness(
    records: OwnRecords, strengths: Sequence[float], lowest: FloatArray, seen: int
) -> FloatArray:
    """Return what a ridge's weakness adds to its score: half of −log of a prior λ/(1 + λ), per record.

    Scores of few records are mostly chance, and many strengths are tried: before it leaves a model
    behind, an owner of 20 records has to have a reason. With many records it is nothing.
    """
    unit = 0.5 if records.problem.fitness_loss.labels else lowest
    return unit * (np.log1p(1.0 / np.array(strengths)) / seen)
