"""The headline of the synchronous paper on real card rows, and its slopes on lending rows.

`psi_mean`: SVM, g = ½θᵀθ, 3 owners × 10,000 card rows, ε = 1, T = 100, averaged sub-gradient.
`slope_epsilon`, `slope_n`: of log ψ against log ε and log n for squared loss where noise dominates.
"""

from dataclasses import replace

import numpy as np

from bench.records import Task, cards, lending
from bench.report import finish
from treaty import Budget, Party, Plan, Problem, risk_of, simulate, survey
from treaty.fitness import best_constant, model_alone
from treaty.losses import Hinge, Squared

RUNS = 100


def card_headline() -> float:
    task = cards()
    problem = Problem(Hinge(), task.domain, 1.0, 2.0, task.intercept)
    x, y = task.private_rows
    risks = {
        f"bank {i}": risk_of(problem.loss, x[i::3][:10_000], y[i::3][:10_000]) for i in range(3)
    }
    parties = tuple(Party(name, 10_000, Budget(1.0)) for name in risks)
    plan = Plan(problem, parties, "averaged-subgradient", 100)
    public = risk_of(problem.loss, *task.public_rows)
    result = simulate(plan.informed_by(survey(problem, public)), risks, runs=RUNS, seed=1)
    stick = result.yardstick
    nothing = float(stick.relative(best_constant(problem, stick.union)))
    print(
        f"{task.source}: psi mean {result.mean:.4f} ± {result.standard_error:.4f}, "
        f"c1 = {result.learner.step_sizes['c1']:.4g}, f* = {stick.best.value:.4f}; nothing {nothing:.4f}"
    )
    return result.mean


def slopes(task: Task) -> tuple[float, float]:
    problem = Problem(Squared(), task.domain, 0.0, 1.0, task.intercept)
    public = risk_of(problem.loss, *task.public_rows)
    # One step size for all budgets, as the papers have it; small, so that the projection is idle.
    # From the public model, so that what the optimisation leaves does not hide what noise adds.
    start = model_alone(problem, public)
    base = Plan(
        problem,
        tuple(Party(f"bank {i}", 10_000, Budget(1.0)) for i in range(3)),
        "averaged-subgradient",
        100,
        {"c1": 0.2},
    )

    def psi(epsilon: float, records: int) -> float:
        parties = tuple(
            replace(party, budget=Budget(epsilon), records=records) for party in base.parties
        )
        risks = {
            party.name: risk_of(problem.loss, *task.resampled(records, seed=i))
            for i, party in enumerate(parties)
        }
        result = simulate(replace(base, parties=parties, start=start), risks, runs=RUNS, seed=1)
        touching = float((np.abs(result.models) > 0.999 * problem.theta_max).mean())
        print(
            f"  epsilon {epsilon:7.1f}  n_i {records:9,}  psi {result.mean:10.4g}  at the bound"
            f" {touching:.3f}"
        )
        return result.mean

    print(f"{task.source}, resampled, squared loss, averaged sub-gradient, T = 100:")
    epsilons = (1.0, 2.0, 4.0, 8.0)
    sizes = (100_000, 200_000, 400_000, 800_000)
    by_epsilon = [psi(epsilon, 100_000) for epsilon in epsilons]
    by_size = [psi(1.0, size) for size in sizes]
    return _slope(epsilons, by_epsilon), _slope(sizes, by_size)


def _slope(along: tuple[float, ...], psi: list[float]) -> float:
    return float(np.polyfit(np.log(along), np.log(psi), 1)[0])


def main() -> None:
    psi_mean = card_headline()
    slope_epsilon, slope_n = slopes(lending())
    finish(
        psi_mean=round(psi_mean, 4),
        slope_epsilon=round(slope_epsilon, 3),
        slope_n=round(slope_n, 3),
    )


if __name__ == "__main__":
    main()
