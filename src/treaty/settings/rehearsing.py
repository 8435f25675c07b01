"""What any method comes to, rehearsed on public rows with the noise of the real plan."""

from dataclasses import replace

import numpy as np

from treaty.arrays import FloatArray
from treaty.fitness import Risk, RowRisk, Yardstick, risk_of
from treaty.fitness.solver import Optimum
from treaty.fitness.tilt import tilted
from treaty.plans import Plan
from treaty.simulation import differing_by_chance, simulate

RUNS = 48
FEW_RUNS = 12
"""Over long horizons."""
LONG = 50


def rehearsals(horizon: int) -> int:
    """Return how many runs a rehearsal has."""
    return RUNS if horizon < LONG else FEW_RUNS


def rehearsed_cost(
    plan: Plan, public: Risk, best: FloatArray, covariance: FloatArray, seed: int
) -> float:
    """Return the expected f(θ) − f(θ*) of a plan.

    Public rows stand in for everybody's records, tilted so that the public model is their best one. A
    learner that begins at the public model begins as far from it as that model may be off by chance.

    Args:
        plan: the plan, informed by the public rows.
        public: these rows, under the loss that fitness is measured with.
        best: the public model.
        covariance: of how far it may be off.
        seed: of starts, clocks and noise.
    """
    problem, runs = plan.problem, rehearsals(plan.horizon)
    rows = public if not isinstance(public, RowRisk) else risk_of(problem.loss, public.x, public.y)
    slope = -(public.gradient(best) + problem.ridge * best)
    fitness = tilted(rows.with_loss(problem.fitness_loss), slope, best)
    value = float(fitness.value(best)) + float(problem.penalty(best))
    stick = Yardstick(problem, fitness, Optimum(best, value, 0.0))
    start = plan.start
    if plan.begin != "zero":
        draws = np.random.default_rng([seed, 5]).standard_normal((runs, len(best)))
        values, vectors = np.linalg.eigh(covariance)
        start = best + draws * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    records = dict.fromkeys((party.name for party in plan.parties), tilted(rows, slope, best))
    done = simulate(
        replace(plan, start=start),
        records,
        runs=runs,
        seed=seed,
        measured_with=stick,
        offsets=differing_by_chance(plan, public.with_loss(problem.loss), best, runs, seed),
    )
    return float(done.final.mean()) * value
