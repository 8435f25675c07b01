"""What joining would do to an owner's own errors, before anybody trains."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treaty.adaptation import Metric, OwnRecords
from treaty.arrays import FloatArray
from treaty.gains.belief import believed
from treaty.gains.competing import ADAPTED, PUBLIC, TOGETHER, contest
from treaty.gains.judging import RIVAL, held_out_scores
from treaty.gains.own_gain import Audience, OwnGain, gain_from
from treaty.gains.prospect import Futures, Prospect, felt
from treaty.measures import Errors, Estimate
from treaty.measures.comparison import NORMAL

LEAST = 0.2
"""The least share of the error that is taken to be beyond any model."""


@dataclass(frozen=True, eq=False)
class _Ratios:
    """By which factor a model changes the rival's main error, in every draw."""

    draws: FloatArray
    by_chance: float

    @property
    def spread(self) -> float:
        return math.hypot(float(self.draws.std(ddof=1)), self.by_chance)


def foreseen_gain(
    audience: Audience,
    records: OwnRecords,
    truth: FloatArray,
    prospect: Prospect,
    public: FloatArray,
    metrics: Sequence[Metric],
) -> OwnGain:
    """Forecast what joining would do to an owner's errors on its own next records.

    What can be had without joining is measured on held-out own records. What joining brings is that
    error times a factor, (s + e)/(s + r): s is what no model can foresee, r what the rival and e what
    the adapted shared model costs beyond it, in draws of worlds that agree with all evidence.

    Args:
        audience: who asks, about which target, and what matters to it.
        records: the owner's own.
        truth: what is true of them, as the user writes it.
        prospect: draws of what nobody knows yet.
        public: the public model.
        metrics: in which metrics models are adapted.
    """
    anchors = {PUBLIC: public[None]}
    scores, picked = held_out_scores(records, anchors, metrics)
    measured = gain_from(audience, truth, {**scores, ADAPTED: scores[RIVAL]}, picked)
    futures = prospect.futures(records.rows_without(()))
    made = contest(records, {**anchors, TOGETHER: futures.shared}, metrics)
    level = _level(records, scores[RIVAL][0])
    rival = made.models[made.rival]

    def ratios(name: str) -> _Ratios:
        models = made.models[name]
        return _ratios(records, futures, models, rival, level, audience.next_records)

    of_rival = measured.models[measured.rival]
    joined = ratios(ADAPTED)
    joined = replace(joined, draws=1.0 - believed(1.0 - joined.draws))
    models = {name: errors for name, errors in measured.models.items() if name != ADAPTED}
    models[TOGETHER] = _times(of_rival, ratios(TOGETHER))
    models[ADAPTED] = _times(of_rival, joined)
    gain = 1.0 - float(joined.draws.mean())
    half = NORMAL * joined.spread
    shared, near = (
        np.stack([futures.excess_in(draw, made.models[name]) for draw in range(len(futures.best))])
        for name in (TOGETHER, ADAPTED)
    )
    unsure = NORMAL * float(joined.draws.std(ddof=1)) / math.sqrt(len(joined.draws))
    return replace(
        measured,
        models=models,
        gain=Estimate(gain, gain - half, gain + half),
        long_run=_about(gain, float(joined.draws.std(ddof=1))),
        leans_to_join=gain > -unsure,
        known=False,
        rise=_power(records) * felt(shared, near) / level,
    )


def _about(value: float, spread: float) -> Estimate:
    return Estimate(value, value - NORMAL * spread, value + NORMAL * spread)


def _level(records: OwnRecords, scores: FloatArray) -> float:
    """Return the mean loss of held-out scores."""
    return float(np.mean(records.problem.fitness_loss.value(scores, records.y)))


def _power(records: OwnRecords) -> float:
    """Return the power of the mean loss that the main error is: a root for squared loss."""
    return 1.0 if records.problem.fitness_loss.labels else 0.5


def _ratios(
    records: OwnRecords,
    futures: Futures,
    models: FloatArray,
    rival: FloatArray,
    level: float,
    next_records: int,
) -> _Ratios:
    costs, of_rival = futures.excess(models), futures.excess(rival)
    beyond = max(level - float(of_rival.mean()), LEAST * level)
    power = _power(records)
    draws = ((beyond + costs) / (beyond + of_rival)) ** power
    # On finitely many next records the better of two models may be the luckier one.
    loss = records.problem.fitness_loss
    of_each = loss.value(records.x @ rival[0], records.y)
    apart = [float(np.var(loss.value(records.x @ model, records.y) - of_each)) for model in models]
    chance = power * math.sqrt(float(np.mean(apart)) / next_records) / level
    return _Ratios(draws, chance)


def _times(errors: Errors, ratios: _Ratios) -> Errors:
    """Return errors multiplied: what is a share of variance or an error, as the main error goes."""
    factor, spread = float(ratios.draws.mean()), ratios.spread

    def scaled(estimate: Estimate) -> Estimate:
        value = estimate.value * factor
        if value <= 0:
            return Estimate(value, value, value)
        upwards, downwards = estimate.high / estimate.value - 1, 1 - estimate.low / estimate.value
        wide, low = (math.hypot(end, NORMAL * spread / factor) for end in (upwards, downwards))
        return Estimate(value, value * max(0.0, 1 - low), value * (1 + wide))

    found: dict[str, Estimate] = {}
    for name, estimate in errors.measures.items():
        if name in ("rmse", "mae", "log_loss"):
            found[name] = scaled(estimate)
        elif name == "r2":
            left = Estimate(
                *(math.sqrt(max(0.0, 1 - e)) for e in (estimate.value, estimate.high, estimate.low))
            )
            left = scaled(left)
            found[name] = Estimate(1 - left.value**2, 1 - left.high**2, 1 - left.low**2)
    return Errors(found)
