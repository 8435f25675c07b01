"""Rehearsal: the real algorithm, with the noise of the real plan, on stand-in rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treaty.arrays import FloatArray
from treaty.fitness import Risk, RowRisk, Yardstick, best_constant, risk_of, yardstick
from treaty.forecast.estimate import Estimate, ratio
from treaty.forecast.stand_in import Fold
from treaty.learners import Plan
from treaty.learners.geometry import WINDOW
from treaty.losses import Windowed
from treaty.privacy import Budget
from treaty.simulation import simulate

TRAININGS = 100
"""An interval is for the mean of so many trainings."""
MOST_RUNS = 2_000


@dataclass(frozen=True, eq=False)
class Stage:
    """One fold made ready: its rows as every party's records, and what can be said of them.

    Args:
        risks: the stand-in of every party.
        stick: what fitness is measured with.
        sampling: ½ tr(H⁻¹G): n times what one sample of n records costs its own best model.
        spectrum: the eigenvalues of H^(−½) G H^(−½), along which that cost falls.
        spread: a square root of H⁻¹GH⁻¹, by which a model of n rows is off.
        fitness: f(θ*), corrected to the numbers of records the plan has.
        constant: f of the best constant.
    """

    risks: Mapping[str, Risk]
    stick: Yardstick
    sampling: float
    spectrum: FloatArray
    spread: FloatArray
    fitness: float
    constant: float


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
    total = sum(party.records for party in plan.parties)
    common = risk_of(problem.loss, fold.x, fold.y)
    risks: dict[str, Risk] = {party.name: common for party in plan.parties}
    rows: list[Risk] = [RowRisk(problem.fitness_loss, fold.x, fold.y)]
    shares = [1.0]
    if fold.owner is not None:
        shares = [party.records / total for party in plan.parties]
        rows = []
        for party in plan.parties:
            mine = fold.owner == party.name
            if mine.sum() < 2 * problem.dimension:
                mine = np.ones(len(fold.y), dtype=bool)
            risks[party.name] = risk_of(problem.loss, fold.x[mine], fold.y[mine])
            rows.append(RowRisk(problem.fitness_loss, fold.x[mine], fold.y[mine]))
    same = fold.owner is None
    stick = yardstick(problem, {"": common} if same else risks, None if same else shares)
    theta = stick.best.theta
    kinks = math.isinf(problem.fitness_loss.curvature_bound)
    hessian = problem.ridge * np.eye(problem.dimension)
    covariance = np.zeros_like(hessian)
    for share, risk in zip(shares, rows, strict=True):
        smooth = risk.with_loss(Windowed(problem.fitness_loss, WINDOW)) if kinks else risk
        mean = risk.gradient(theta)
        hessian += share * smooth.hessian(theta)
        covariance += share * (risk.gradient_covariance(theta) - np.outer(mean, mean))
    values, vectors = np.linalg.eigh(hessian)
    kept = np.maximum(values, 1e-8 * values[-1])
    root = vectors / np.sqrt(kept)
    inner = root.T @ covariance @ root
    spectrum = np.maximum(np.linalg.eigvalsh(0.5 * (inner + inner.T)), 0.0)
    sampling = 0.5 * float(spectrum.sum())
    axes = np.linalg.eigh(0.5 * (inner + inner.T))
    spread = root @ (axes[1] * np.sqrt(np.maximum(axes[0], 0.0)))
    correction = sampling * (1 / len(fold.y) - 1 / total)
    constant = float(stick.fitness(best_constant(problem, stick.union)))
    return Stage(risks, stick, sampling, spectrum, spread, stick.best.value + correction, constant)


def rehearse(
    plan: Plan,
    ready: Sequence[Stage],
    *,
    public_rows: int | None = None,
    precision: float = 0.02,
    seed: int = 0,
) -> Rehearsal:
    """Run a plan on every fold, with its own n_i, ε_i, T, mechanism, caps and clocks.

    Args:
        plan: the plan, with its step sizes.
        ready: the folds.
        public_rows: for a learner that begins at the public model: how many rows that is of. Starts
            are then drawn as far from the optimum as models of so many rows are.
        precision: the relative Monte-Carlo error to reach, as far as 2,000 runs do.
        seed: of clocks, noise and starts. Plans rehearsed under one seed share their randomness.
    """
    total = sum(party.records for party in plan.parties)
    silent = plan.with_parties(
        tuple(replace(party, budget=Budget(math.inf)) for party in plan.parties)
    )
    runs = 24
    while True:
        noisy = [_costs(plan, s, runs, seed + i, public_rows, total) for i, s in enumerate(ready)]
        mean = float(np.mean([costs.mean() for costs in noisy]))
        within = float(np.mean([costs.var(ddof=1) for costs in noisy]))
        drawn = runs * len(ready)
        if mean <= 0 or drawn >= MOST_RUNS or math.sqrt(within / drawn) <= precision * mean:
            break
        needed = within / (precision * mean) ** 2 / len(ready)
        runs = int(min(MOST_RUNS / len(ready) + 1, max(2 * runs, 1.1 * needed)))
    quiet = [
        _costs(silent, s, min(runs, 24), seed + i, public_rows, total) for i, s in enumerate(ready)
    ]
    fitness = [stage.fitness for stage in ready]
    scale = float(np.mean(fitness))
    begin = 0.0
    if public_rows is not None:
        begin = float(np.mean([costs.var(ddof=1) for costs in quiet])) / scale**2
    rows = sum(stage.stick.union.n for stage in ready)
    psi = ratio([costs.mean() for costs in noisy], fitness)
    sampled = ((psi.high - psi.low) / 2 / 1.645) ** 2 * rows / total
    extra = within / scale**2 / TRAININGS + begin + sampled
    optimisation = float(np.mean([costs.mean() for costs in quiet])) / scale
    return Rehearsal(
        ratio([costs.mean() for costs in noisy], fitness, extra),
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
