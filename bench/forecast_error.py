"""How far forecasts are off: made from stand-in rows that no owner holds, then measured.

Flights by airline, lending, hospital by hospital and card rows; ε from 0.1 to 10, three sizes, three
methods. Of |forecast/measured − 1| the `median` and the 95th percentile `p95`; `coverage` is the share
of measured means (of 100 runs) inside the stated 90% interval. The same with 500 stand-in rows, and how
far the papers' bounds are off (`bound_median`, the factor by which they exceed what is measured).
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.records import Task, cards, flights, hospital, lending
from bench.report import finish
from treaty import Budget, Party, Plan, Problem, risk_of, simulate
from treaty.evidence import StandIn, cross_fitted, stages
from treaty.fitness import Risk, RowRisk
from treaty.forecasting import concluded, rehearsals
from treaty.learners import survey
from treaty.losses import Logistic, Loss, Squared
from treaty.records import Counts
from treaty.records.encoder import encode

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
METHODS = {"shrinking-steps": 100, "averaged-subgradient": 100, "one-at-a-time": 1000}
RUNS = 100
FOLDS = 10


@dataclass(frozen=True)
class Subject:
    """A task with its loss, its owners and their sizes."""

    make: Callable[[int, int], Task]
    loss: Loss
    owners: int
    sizes: tuple[int, int, int]
    theta_max: float = 1.0
    ridge: float = 2e-5
    horizon: int | None = None


SUBJECTS = {
    "flights": Subject(flights, Squared(), 5, (2_000, 8_000, 25_000)),
    "lending": Subject(lending, Squared(), 3, (1_000, 4_000, 10_000)),
    "hospital": Subject(hospital, Squared(), 8, (500, 1_000, 2_000)),
    "cards": Subject(cards, Logistic(), 3, (1_000, 4_000, 10_000), 3.0, 0.01, 100),
}


def owners_of(task: Task, subject: Subject, size: int) -> dict[str, Risk]:
    """Return the records of the largest owners, `size` of them each."""
    if task.by is None:
        x, y = task.private_rows
        return {
            f"owner {i}": risk_of(
                subject.loss, x[i * size : (i + 1) * size], y[i * size : (i + 1) * size]
            )
            for i in range(subject.owners)
        }
    counts = task.private[task.by].value_counts(sort=True)
    names = counts[task.by].to_list()[: subject.owners]
    return {
        name: risk_of(
            subject.loss, *task.rows(task.private.filter(task.private[task.by] == name)[:size])
        )
        for name in names
    }


def compare(name: str, stand_in_rows: int) -> list[dict[str, float]]:
    """Forecast and measure every case of one task.

    Each size and method has stand-in rows and owners of its own, drawn anew.
    """
    subject = SUBJECTS[name]
    cases: list[dict[str, float]] = []
    seed = 0
    for size in subject.sizes:
        for method, usual in METHODS.items():
            task = subject.make(stand_in_rows, seed)
            horizon = usual if subject.horizon is None else subject.horizon
            cases += compare_budgets(name, subject, task, size, method, horizon)
            seed += 1
    return cases


def compare_budgets(
    name: str, subject: Subject, task: Task, size: int, method: str, horizon: int
) -> list[dict[str, float]]:
    """Forecast and measure all budgets for one size and method."""
    problem = Problem(subject.loss, task.domain, subject.ridge, subject.theta_max, task.intercept)
    stand_in = StandIn(
        encode(task.features, task.public, Counts()),
        task.target.encode(task.public[task.target.column], Counts()),
        "public",
        task.public[task.by].to_numpy().astype(str) if task.by else None,
    )
    folds = cross_fitted(task.terms, task.features, task.encoder.dictionary, stand_in, FOLDS)
    public = survey(problem, RowRisk(problem.loss, *task.public_rows))
    risks = owners_of(task, subject, size)
    cases: list[dict[str, float]] = []
    ready, stick = None, None
    for epsilon in EPSILONS:
        parties = tuple(Party(n, r.n, Budget(epsilon)) for n, r in risks.items())
        plan = Plan(problem, parties, method, horizon).informed_by(public).with_steps()
        ready = ready or stages(problem, parties, folds)
        forecast = concluded(rehearsals(plan, ready))
        measured = simulate(plan, risks, runs=RUNS, seed=12345, measured_with=stick)
        stick = measured.yardstick
        theorem = plan.learner().bound()
        assert theorem is not None
        bound = theorem.total / stick.best.value
        cases.append(
            {
                "forecast": forecast.psi.value,
                "low": forecast.psi.low,
                "high": forecast.psi.high,
                "measured": measured.mean,
                "bound": bound,
            }
        )
        print(
            f"{name:9} {method:21} n_i {size:6,} ε {epsilon:5}: forecast {forecast.psi}, "
            f"measured {measured.mean:.3g} ± {measured.standard_error:.2g}, bound {bound:.2g}"
        )
        sys.stdout.flush()
    return cases


def summary(cases: list[dict[str, float]]) -> tuple[float, float, float]:
    """Return median and 95th percentile of the relative error, and the coverage."""
    off = np.array([abs(c["forecast"] / c["measured"] - 1) for c in cases])
    inside = np.mean([c["low"] <= c["measured"] <= c["high"] for c in cases])
    return float(np.median(off)), float(np.percentile(off, 95)), float(inside)


def main() -> None:
    names = sys.argv[1:] or list(SUBJECTS)
    many = [case for name in names for case in compare(name, 5_000)]
    few = [case for name in names for case in compare(name, 500)]
    median, p95, coverage = summary(many)
    median_500, p95_500, coverage_500 = summary(few)
    factor = float(np.median([case["bound"] / case["measured"] for case in many]))
    finish(
        median=round(median, 4),
        p95=round(p95, 4),
        coverage=round(coverage, 3),
        median_500=round(median_500, 4),
        p95_500=round(p95_500, 4),
        coverage_500=round(coverage_500, 3),
        bound_median=round(factor, 1),
    )


if __name__ == "__main__":
    main()
