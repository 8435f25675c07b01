"""Rehearsal: the real algorithm, with the noise of the real plan, on stand-in rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treaty.arrays import FloatArray
from treaty.forecast.estimate import Estimate, ratio
from treaty.forecast.stage import Stage
from treaty.learners import Plan, method_named
from treaty.privacy import Budget
from treaty.simulation import simulate

TRAININGS = 100
"""An interval is for the mean of so many trainings."""
MOST_RUNS = 2_000


@dataclass(frozen=True)
class Rehearsal:
    """What a plan would come to.

    Args:
        psi: the expected ψ, for the mean of a hundred trainings.
        optimisation: what would be left without any noise.
        noise: what the noise adds.
        runs: how many runs it took.
    """

    psi: Estimate
    optimisation: float
    noise: float
    runs: int


def rehearse(
    plan: Plan,
    ready: Sequence[Stage],
    *,
    total: int | None = None,
    public_rows: int | None = None,
    precision: float = 0.02,
    runs: int = 24,
    seed: int = 0,
) -> Rehearsal:
    """Run a plan on every fold, with its own n_i, ε_i, T, mechanism, caps and clocks.

    Args:
        plan: the plan, with its step sizes.
        ready: the folds.
        total: how many records it is judged on, if they are more than the plan's parties hold.
        public_rows: for a learner that begins at the public model: how many rows that is of. Starts
            are then drawn as far from the optimum as models of so many rows are.
        precision: the relative Monte-Carlo error to reach, as far as 2,000 runs do.
        runs: how many runs on each fold to begin with.
        seed: of clocks, noise and starts. Plans rehearsed under one seed share their randomness.
    """
    if total is None:
        total = sum(party.records for party in plan.parties)
    silent = plan.with_parties(
        tuple(replace(party, budget=Budget(math.inf)) for party in plan.parties)
    )
    noisy = _precise(plan, ready, total, public_rows, precision, runs, seed)
    runs = len(noisy[0])
    # The same clocks and starts without noise; where there are none, all runs are one.
    chance = public_rows is not None or not method_named(plan.method).synchronous
    few = runs if chance else 2
    quiet = [_costs(silent, s, few, seed + i, public_rows, total) for i, s in enumerate(ready)]
    scale = float(np.mean([stage.fitness for stage in ready]))
    begin = 0.0
    if public_rows is not None:
        begin = float(np.mean([costs.var(ddof=1) for costs in quiet])) / scale**2
    psi = _estimate(noisy, ready, total, begin)
    optimisation = float(np.mean([costs.mean() for costs in quiet])) / scale
    return Rehearsal(psi, optimisation, psi.value - optimisation, runs * len(ready))


def expected(
    plan: Plan, ready: Sequence[Stage], *, precision: float = 0.02, runs: int = 24, seed: int = 0
) -> Estimate:
    """Return the expected ψ of a learner that begins at 0, noise and optimisation not told apart.

    Args:
        plan: the plan, with its step sizes.
        ready: the folds.
        precision: as in `rehearse`.
        runs: as in `rehearse`.
        seed: as in `rehearse`.
    """
    total = sum(party.records for party in plan.parties)
    return _estimate(_precise(plan, ready, total, None, precision, runs, seed), ready, total, 0.0)


def _precise(
    plan: Plan,
    ready: Sequence[Stage],
    total: int,
    public_rows: int | None,
    precision: float,
    runs: int,
    seed: int,
) -> list[FloatArray]:
    """Return f(θ) − f(θ*) on every fold, of as many runs as a precision takes."""
    while True:
        noisy = [_costs(plan, s, runs, seed + i, public_rows, total) for i, s in enumerate(ready)]
        mean = float(np.mean([costs.mean() for costs in noisy]))
        within = float(np.mean([costs.var(ddof=1) for costs in noisy]))
        drawn = runs * len(ready)
        if mean <= 0 or drawn >= MOST_RUNS or math.sqrt(within / drawn) <= precision * mean:
            return noisy
        needed = within / (precision * mean) ** 2 / len(ready)
        runs = int(min(MOST_RUNS / len(ready) + 1, max(2 * runs, 1.1 * needed)))


def _estimate(
    noisy: Sequence[FloatArray], ready: Sequence[Stage], total: int, begin: float
) -> Estimate:
    """Return ψ with its interval; `begin` is the variance that chance in the start brings."""
    fitness = [stage.fitness for stage in ready]
    # Halves of one stand-in, cut again and again, are still that many rows.
    rows = 2 * float(np.mean([stage.rows for stage in ready]))
    means = [float(costs.mean()) for costs in noisy]
    within = float(np.mean([costs.var(ddof=1) for costs in noisy]))
    by_chance = within / len(noisy[0])
    psi = ratio(means, fitness, monte_carlo=by_chance)
    sampled = ((psi.high - psi.low) / 2 / 1.645) ** 2 * rows / total
    extra = within / float(np.mean(fitness)) ** 2 / TRAININGS + begin + sampled
    return ratio(means, fitness, extra, by_chance)


def _costs(
    plan: Plan, stage: Stage, runs: int, seed: int, public_rows: int | None, total: int
) -> FloatArray:
    """Return f(θ) − f(θ*) of every run on one fold."""
    start = None
    if public_rows is not None:
        draws = np.random.default_rng([seed, 7]).standard_normal((runs, plan.problem.dimension))
        off = math.sqrt(1 / public_rows + (1 - stage.at_hand) / total)
        start = stage.centre + off * (draws @ stage.spread.T)
    result = simulate(
        plan, stage.risks, runs=runs, seed=seed, start=start, measured_with=stage.stick
    )
    return result.final * stage.stick.best.value
