"""One forecast of the case of 86 hospitals: 100 runs, T = 1,000, one at a time. `seconds`.

`coalition_seconds`: the best coalition of 1,000 owners, with leave-one-out and Shapley values.
"""

import numpy as np

from bench.records import hospital
from bench.report import best_seconds, finish
from treaty import Budget, Party, Plan, Problem
from treaty.advice.coalition import best_coalition, leave_one_out, shapley
from treaty.advice.worth import Worth
from treaty.evidence import StandIn, cross_fitted, stages
from treaty.fitness import RowRisk
from treaty.forecasting import concluded, rehearsals
from treaty.learners import survey
from treaty.losses import Squared
from treaty.records import Counts
from treaty.records.encoder import encode

OWNERS, RECORDS, T, FOLDS = 86, 10_000, 1_000, 10


def main() -> None:
    task = hospital(5_000)
    problem = Problem(Squared(), task.domain, 2e-5, 1.0, task.intercept)
    parties = tuple(Party(f"hospital {i}", RECORDS, Budget(1.0)) for i in range(OWNERS))
    encoded = encode(task.features, task.public, Counts())
    rows = StandIn(encoded, task.target.encode(task.public[task.target.column], Counts()), "public")
    runs: list[int] = []

    def whole() -> None:
        plan = Plan(problem, parties, "one-at-a-time", T)
        public = survey(problem, RowRisk(problem.loss, *task.public_rows))
        plan = plan.informed_by(public).with_steps()
        folds = cross_fitted(task.terms, task.features, task.encoder.dictionary, rows, FOLDS)
        ready = stages(problem, parties, folds)
        result = concluded(rehearsals(plan, ready, precision=np.inf, runs=100 // FOLDS))
        runs.append(result.runs)
        print(f"ψ = {result.psi}, {result.runs} noisy runs and as many without noise")

    seconds = best_seconds(whole, 3)
    assert min(runs) >= 100
    coalition = best_seconds(thousand_owners, 3)
    finish(seconds=round(seconds, 2), runs=min(runs), coalition_seconds=round(coalition, 3))


def thousand_owners() -> None:
    random = np.random.default_rng(0)
    worth = Worth(
        names=tuple(f"owner {i}" for i in range(1000)),
        records=random.integers(10, 10**5, 1000).astype(float),
        noise=1e4 / random.uniform(0.01, 10, 1000) ** 2,
        sampling=5.0,
        optimisation=0.01,
        nothing=1.0,
        luck=0.9,
        pulls=np.zeros((1000, 0)),
        difference_costs=np.zeros(1000),
    )
    leave_one_out(worth, best_coalition(worth))
    shapley(worth)


if __name__ == "__main__":
    main()
