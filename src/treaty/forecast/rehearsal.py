"""Rehearsal: the real algorithm, with the noise of the real plan, on stand-in rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treaty.arrays import FloatArray
from treaty.fitness import (
    Optimum,
    Problem,
    Risk,
    RowRisk,
    Yardstick,
    best_constant,
    optimum,
    pooled,
    risk_of,
)
from treaty.forecast.estimate import Estimate, ratio
from treaty.forecast.stand_in import Fold
from treaty.learners import Plan, method_named
from treaty.learners.geometry import WINDOW
from treaty.losses import Windowed
from treaty.privacy import Budget
from treaty.simulation import simulate

TRAININGS = 100
"""An interval is for the mean of so many trainings."""
MOST_RUNS = 2_000
SUBSETS = 4
"""With so many random sets of rows an owner's own rows are compared."""
FEWEST_OWN = 5
"""Rows of its own that a party needs in a fold to be told apart from the others."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One fold made ready: its rows as every party's records, and what can be said of them.

    Args:
        risks: the stand-in of every party.
        stick: what fitness is measured with.
        sampling: ½ tr(H⁻¹G): n times what one sample of n records costs its own best model.
        spectrum: the eigenvalues of H^(−½) G H^(−½), along which that cost falls.
        spread: a square root of H⁻¹GH⁻¹, by which a model of n rows is off.
        fitness: f(θ*) as it would be with the plan's numbers of records.
        constant: f of the best constant.
        apart: where owners are told apart: how much more the model of each owner's own rows costs
            here than a model of as many rows of everybody's.
    """

    risks: Mapping[str, Risk]
    stick: Yardstick
    sampling: float
    spectrum: FloatArray
    spread: FloatArray
    fitness: float
    constant: float
    apart: Mapping[str, float]


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


def stages(plan: Plan, folds: Sequence[Fold]) -> list[Stage]:
    """Make every fold ready for a plan's rehearsals."""
    return [_stage(plan, fold) for fold in folds]


def _stage(plan: Plan, fold: Fold) -> Stage:
    problem = plan.problem
    assert fold.others is not None
    total = sum(party.records for party in plan.parties)
    rows, shares = _by_party(plan, fold)
    others, _ = _by_party(plan, fold.others)
    risks = {name: _trained_on(problem, risk) for name, risk in rows.items()}
    stick = Yardstick(problem, pooled(list(rows.values()), shares), _best(problem, rows, shares))
    theta = stick.best.theta
    kinks = math.isinf(problem.fitness_loss.curvature_bound)
    hessian = problem.ridge * np.eye(problem.dimension)
    covariance, of_means = np.zeros_like(hessian), np.zeros_like(hessian)
    for share, (name, risk) in zip(shares, rows.items(), strict=True):
        smooth = risk.with_loss(Windowed(problem.fitness_loss, WINDOW)) if kinks else risk
        mean = risk.gradient(theta)
        hessian += share * smooth.hessian(theta)
        own = risk.gradient_covariance(theta) - np.outer(mean, mean)
        covariance += share * own
        of_means += share**2 / others[name].n * own + share / total * own
    values, vectors = np.linalg.eigh(hessian)
    root = vectors / np.sqrt(np.maximum(values, 1e-8 * values[-1]))
    spectrum, axes = np.linalg.eigh(root.T @ covariance @ root)
    spectrum = np.maximum(spectrum, 0.0)
    # The best model of the other folds, judged on this one, is off by what its own rows and those
    # of the owners cost; the best of this fold would flatter itself far more.
    elsewhere = float(stick.fitness(_best(problem, others, shares).theta))
    fitness = elsewhere - 0.5 * float(np.trace(root.T @ of_means @ root))
    sampling = 0.5 * float(spectrum.sum())
    apart = _apart(problem, stick, fold.others, others) if fold.owner is not None else {}
    return Stage(
        risks=_shared(plan, risks),
        stick=stick,
        sampling=sampling,
        spectrum=spectrum,
        spread=root @ (axes * np.sqrt(spectrum)),
        fitness=fitness,
        constant=float(stick.fitness(best_constant(problem, stick.union))),
        apart=apart,
    )


def _apart(
    problem: Problem,
    stick: Yardstick,
    half: Fold,
    own: Mapping[str, Risk],
) -> dict[str, float]:
    """Return what each owner's own model costs because it differs, not because its rows are few.

    Its model of so many rows is compared with models of as many rows of everybody's: what those cost
    is chance, however few the rows are.
    """
    random = np.random.default_rng(len(half.y))
    apart: dict[str, float] = {}
    for name, risk in own.items():
        if not problem.dimension < risk.n < len(half.y):
            continue
        alone = float(stick.fitness(_best(problem, {name: risk}, [1.0]).theta))
        chance: list[float] = []
        for _ in range(SUBSETS):
            some = random.choice(len(half.y), risk.n, replace=False)
            rows = RowRisk(problem.fitness_loss, half.x[some], half.y[some])
            chance.append(float(stick.fitness(_best(problem, {name: rows}, [1.0]).theta)))
        apart[name] = alone - float(np.mean(chance))
    return apart


def _by_party(plan: Plan, fold: Fold) -> tuple[dict[str, Risk], list[float]]:
    """Return the rows that stand in for each party and its share; one of all where owners are alike.

    A party with too few rows of its own is stood in for by everybody's.
    """
    loss = plan.problem.fitness_loss
    if fold.owner is None:
        return {"": RowRisk(loss, fold.x, fold.y)}, [1.0]
    total = sum(party.records for party in plan.parties)
    rows: dict[str, Risk] = {}
    for party in plan.parties:
        mine = fold.owner == party.name
        if mine.sum() < FEWEST_OWN:
            mine = np.ones(len(fold.y), dtype=bool)
        rows[party.name] = RowRisk(loss, fold.x[mine], fold.y[mine])
    return rows, [party.records / total for party in plan.parties]


def _trained_on(problem: Problem, risk: Risk) -> Risk:
    """Return the same rows under the loss that is trained, through moments where it has them."""
    assert isinstance(risk, RowRisk)
    return risk_of(problem.loss, risk.x, risk.y)


def _best(problem: Problem, rows: Mapping[str, Risk], shares: Sequence[float]) -> Optimum:
    held = [risk for risk in rows.values() if isinstance(risk, RowRisk)]
    fast = [risk_of(problem.fitness_loss, risk.x, risk.y) for risk in held]
    return optimum(problem, pooled(fast, shares))


def _shared(plan: Plan, risks: Mapping[str, Risk]) -> dict[str, Risk]:
    return {party.name: risks.get(party.name) or risks[""] for party in plan.parties}


def rehearse(
    plan: Plan,
    ready: Sequence[Stage],
    *,
    public_rows: int | None = None,
    precision: float = 0.02,
    runs: int = 24,
    seed: int = 0,
) -> Rehearsal:
    """Run a plan on every fold, with its own n_i, ε_i, T, mechanism, caps and clocks.

    Args:
        plan: the plan, with its step sizes.
        ready: the folds.
        public_rows: for a learner that begins at the public model: how many rows that is of. Starts
            are then drawn as far from the optimum as models of so many rows are.
        precision: the relative Monte-Carlo error to reach, as far as 2,000 runs do.
        runs: how many runs on each fold to begin with.
        seed: of clocks, noise and starts. Plans rehearsed under one seed share their randomness.
    """
    total = sum(party.records for party in plan.parties)
    silent = plan.with_parties(
        tuple(replace(party, budget=Budget(math.inf)) for party in plan.parties)
    )
    while True:
        noisy = [_costs(plan, s, runs, seed + i, public_rows, total) for i, s in enumerate(ready)]
        mean = float(np.mean([costs.mean() for costs in noisy]))
        within = float(np.mean([costs.var(ddof=1) for costs in noisy]))
        drawn = runs * len(ready)
        if mean <= 0 or drawn >= MOST_RUNS or math.sqrt(within / drawn) <= precision * mean:
            break
        needed = within / (precision * mean) ** 2 / len(ready)
        runs = int(min(MOST_RUNS / len(ready) + 1, max(2 * runs, 1.1 * needed)))
    # Without noise, clocks or starts of their own all runs are one; two of them cost little.
    chance = public_rows is not None or not method_named(plan.method).synchronous
    few = min(runs, 24) if chance else 2
    quiet = [_costs(silent, s, few, seed + i, public_rows, total) for i, s in enumerate(ready)]
    fitness = [stage.fitness for stage in ready]
    scale = float(np.mean(fitness))
    begin = 0.0
    if public_rows is not None:
        begin = float(np.mean([costs.var(ddof=1) for costs in quiet])) / scale**2
    # Halves of one stand-in, cut again and again, are still that many rows.
    rows = 2 * float(np.mean([stage.stick.union.n for stage in ready]))
    means = [float(costs.mean()) for costs in noisy]
    by_chance = within / runs
    psi = ratio(means, fitness, monte_carlo=by_chance)
    sampled = ((psi.high - psi.low) / 2 / 1.645) ** 2 * rows / total
    extra = within / scale**2 / TRAININGS + begin + sampled
    optimisation = float(np.mean([costs.mean() for costs in quiet])) / scale
    return Rehearsal(
        ratio(means, fitness, extra, by_chance),
        optimisation,
        max(0.0, psi.value - optimisation),
        drawn,
    )


def _costs(
    plan: Plan, stage: Stage, runs: int, seed: int, public_rows: int | None, total: int
) -> FloatArray:
    """Return f(θ) − f(θ*) of every run on one fold."""
    start = None
    if public_rows is not None:
        draws = np.random.default_rng([seed, 7]).standard_normal((runs, plan.problem.dimension))
        off = draws @ stage.spread.T * math.sqrt(1 / public_rows + 1 / total)
        start = stage.stick.best.theta + off
    result = simulate(
        plan, stage.risks, runs=runs, seed=seed, start=start, measured_with=stage.stick
    )
    return result.final * stage.stick.best.value
