"""An owner of whom only a few public rows are known: its records are imagined, and its answer too."""

import math
from collections.abc import Sequence

import numpy as np

from treaty.adaptation import Metric, OwnRecords
from treaty.arrays import FloatArray
from treaty.fitness import MomentRisk, Moments, Problem, RowRisk
from treaty.gains.belief import believed
from treaty.gains.competing import ADAPTED, PUBLIC, RIVALS, TOGETHER, contest
from treaty.gains.foreseeing import LEAST
from treaty.gains.judging import RIVAL
from treaty.gains.levels import Level
from treaty.gains.own_gain import Audience, OwnGain
from treaty.gains.prospect import Futures, Prospect, felt
from treaty.losses import Squared
from treaty.measures import Errors, Estimate
from treaty.measures.comparison import NORMAL

DRAWS = 12


def imagined_gain(
    audience: Audience,
    problem: Problem,
    rows: RowRisk,
    records: int,
    prospect: Prospect,
    public: FloatArray,
    metrics: Sequence[Metric],
    level: Level,
) -> OwnGain:
    """Forecast what joining would do to the errors of an owner of whom only public rows are known.

    For each draw of the owner's best model, records as many as it holds are imagined around it: their
    curvature is that of its rows, their mean gradient there is chance. All that the owner could make of
    them competes, and is judged by what it costs beyond the drawn best model.

    Args:
        audience: who asks, about which target, and what matters to it.
        problem: what is learnt.
        rows: the owner's rows among the public ones.
        records: how many records it holds.
        prospect: draws of what nobody knows yet.
        public: the public model.
        metrics: in which metrics models are adapted.
        level: the mean loss of the public model on the owner's rows, each under one made without it.
    """
    futures = prospect.futures(rows, DRAWS, few=True)
    beyond = max(level.value - float(futures.excess(public[None]).mean()), LEAST * level.value)
    random = np.random.default_rng(records)
    costs: dict[str, list[float]] = {}
    picked: dict[str, int] = {}
    shared: list[FloatArray] = []
    near: list[FloatArray] = []
    apart: list[float] = []
    for draw in range(DRAWS):
        own = _imagined(problem, futures, draw, beyond, records, random)
        made = contest(own, {PUBLIC: public[None], TOGETHER: futures.shared}, metrics)
        everywhere = {name: futures.excess_in(draw, models) for name, models in made.models.items()}
        cost = {name: float(each[draw % len(each)]) for name, each in everywhere.items()}
        there = made.models[made.rival]
        way = made.models[ADAPTED][draw] - there[draw % len(there)]
        apart.append(0.5 * float(way @ futures.curvature @ way))
        shared.append(everywhere[TOGETHER])
        near.append(everywhere[ADAPTED])
        for name, each in {**cost, RIVAL: cost[made.rival]}.items():
            costs.setdefault(name, []).append(each)
        picked[made.rival] = picked.get(made.rival, 0) + 1
    power = 1.0 if problem.fitness_loss.labels else 0.5
    rival, joined = (np.array(costs[name]) + beyond for name in (RIVAL, ADAPTED))
    draws = believed(1.0 - (joined / rival) ** power)
    value, spread = float(draws.mean()), float(draws.std(ddof=1))
    # What two models cost a record differs with 4σ²δ² where δ is what their predictions differ by, and
    # with δ² where labels are predicted: on as many further records that is chance as well.
    unit = 2.0 if problem.fitness_loss.labels else 4.0 * beyond
    by_chance = power * math.sqrt(unit * float(np.mean(apart)) / audience.next_records)
    half = NORMAL * math.hypot(spread, by_chance / float(rival.mean()))
    gain = Estimate(value, value - half, value + half)
    chance = power * math.sqrt(level.unsure + level.tails / audience.next_records)
    measure = "log_loss" if problem.fitness_loss.labels else "rmse"
    scale = 1.0 if problem.fitness_loss.labels else audience.target.scaling[1]
    return OwnGain(
        name=audience.name,
        records=records,
        target=audience.target,
        models={
            name: Errors({measure: _error(np.array(each) + beyond, power, scale, chance)})
            for name, each in costs.items()
            if name != RIVAL
        },
        rival=max(picked, key=lambda key: (picked[key], -RIVALS.index(key))),
        gain=gain,
        measure=measure,
        worthwhile=audience.worthwhile,
        long_run=Estimate(value, value - NORMAL * spread, value + NORMAL * spread),
        leans_to_join=value > -NORMAL * spread / math.sqrt(DRAWS),
        rows_known=rows.n,
        rise=power * felt(np.stack(shared), np.stack(near)) / float(rival.mean()),
    )


def _imagined(
    problem: Problem,
    futures: Futures,
    draw: int,
    beyond: float,
    records: int,
    random: np.random.Generator,
) -> OwnRecords:
    """Return records around a drawn best model, as moments of a quadratic loss."""
    p = len(futures.best[draw])
    xx = 0.5 * futures.curvature
    values, vectors = np.linalg.eigh(futures.curvature)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    best = futures.best[draw]
    unit = 2.0 * beyond if not problem.fitness_loss.labels else 1.0
    risks: list[MomentRisk] = []
    parts = OwnRecords.PARTS
    for part in range(parts):
        n = max(2, (records + part) // parts)
        pull = root @ random.standard_normal(p) * math.sqrt(unit / n)
        xy = xx @ best - 0.5 * pull
        risks.append(MomentRisk(Moments(n, xx, xy, float(best @ xx @ best) + beyond)))
    return OwnRecords.of_parts(
        Problem(Squared(), problem.domain, intercept=problem.intercept), risks
    )


def _error(losses: FloatArray, power: float, scale: float, chance: float) -> Estimate:
    """Return an error from mean losses in every draw, with what chance in few rows adds."""
    each = scale * losses**power
    value = float(each.mean())
    wide = 1 + NORMAL * math.hypot(float(each.std(ddof=1)) / value, chance)
    return Estimate(value, value / wide, value * wide)
