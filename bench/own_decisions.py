"""Are owners told the right thing before anybody trains? Forecasts against held-out records.

    python -m bench.own_decisions [SPLITS [FIRST]]

Every owner forecasts inside its own walls, from its own records and the public rows, what joining would
do to its error. Then everybody trains, owners adapt, and records that nobody has seen say what it did.
`regret`: how much larger the error is than that of the better choice, for who does what the forecast
leans to, and for who joins always or never; `coverage` of the error intervals, `coverage_gain` of those
of the gain, for the next records that there are; `kept`: of owners told that it is worthwhile, how many
gained; `gain_slope`: of the gain that was got on the gain that was told.
"""

import sys

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from bench.own_cases import Case
from bench.owners import OwnersTask, exams, tasks
from bench.report import finish
from treaty.arrays import FloatArray
from treaty.gains import (
    ADAPTED,
    PUBLIC,
    TOGETHER,
    Audience,
    Prospect,
    contest,
    foreseen_gain,
    tails_of,
)

SPLITS = 2
PUBLIC_ROWS = {"loans by state": (300, 1500)}
USUAL = (400, 1500)
HELD_OUT = 0.4
Outcome = dict[str, float | str]


def outcomes(task: OwnersTask, public_rows: int, epsilon: float, seed: int) -> list[Outcome]:
    """Forecast, decide, train and look, for every owner of one split."""
    with threadpool_limits(1):
        case = Case(task, public_rows, 1000 + seed, HELD_OUT)
        plan = case.plan(epsilon)
        shared = case.shared(epsilon, seed)
        public = case.survey.tuned.theta[None]
        made: list[Outcome] = []
        for name, owner in case.owners.items():
            records = case.records(name)
            prospect = Prospect(plan, case.survey, name, seed)
            audience = Audience(
                name,
                task.target,
                len(owner.next_truth),
                tails=tails_of(case.survey.risk, public[0]),
            )
            truth = case.truth(name)
            told = foreseen_gain(audience, records, truth, prospect, public[0], case.metrics)
            after = contest(records, {PUBLIC: public, TOGETHER: shared[None]}, case.metrics)
            joined, rival = (
                np.sqrt(case.squared_error(name, after.models[key][0], clamped=True))
                for key in (ADAPTED, after.rival)
            )
            interval = told.adapted.rmse
            made.append(
                {
                    "task": task.name,
                    "owner": name,
                    "records": len(owner.y),
                    "decision": told.decision,
                    "leaning": "join" if told.leans_to_join else "stay",
                    "gain": told.gain.value,
                    "spread": (told.long_run.high - told.long_run.low) / 3.29,
                    "low": told.gain.low,
                    "high": told.gain.high,
                    "joined": joined,
                    "rival": rival,
                    "covered": float(interval.low <= joined <= interval.high),
                }
            )
        return made


def summary(found: list[Outcome]) -> dict[str, float]:
    """Return the figures of some owner-cases."""
    joined, rival = (np.array([float(f[key]) for f in found]) for key in ("joined", "rival"))
    best = np.minimum(joined, rival)
    join = np.array([f["leaning"] == "join" for f in found])
    worthwhile = np.array([f["decision"] == "join" for f in found])
    gained = joined < rival

    def regret(chosen: FloatArray) -> float:
        return float(np.mean(chosen / best - 1))

    return {
        "cases": len(found),
        "regret": regret(np.where(join, joined, rival)),
        "regret_always": regret(joined),
        "regret_never": regret(rival),
        "coverage": float(np.mean([float(f["covered"]) for f in found])),
        "coverage_gain": float(
            np.mean(
                [
                    float(f["low"]) <= 1 - j / r <= float(f["high"])
                    for f, j, r in zip(found, joined, rival, strict=True)
                ]
            )
        ),
        "told_worthwhile": float(worthwhile.mean()),
        "kept": float(gained[worthwhile].mean()) if worthwhile.any() else float("nan"),
        "leaning_join": float(join.mean()),
        "gained": float(gained.mean()),
        "gain_slope": _slope([float(f["gain"]) for f in found], 1 - joined / rival),
        "mean_gain_forecast": float(np.mean([float(f["gain"]) for f in found])),
        "mean_gain": float(np.mean(1 - joined / rival)),
    }


def _slope(told: list[float], got: FloatArray) -> float:
    """Return the slope of what was got on what was told: 1 where gains are told as large as they are."""
    away = np.array(told) - np.mean(told)
    return float(away @ (got - got.mean()) / (away @ away))


def main() -> None:
    """Measure, print a line a task, then one of JSON."""
    splits = int(sys.argv[1]) if len(sys.argv) > 1 else SPLITS
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    every: list[Outcome] = []
    for task in tasks():
        epsilons = (1.0, 6.0) if task is exams() else (1.0, 3.0)
        jobs = [
            (task, rows, epsilon, seed)
            for rows in PUBLIC_ROWS.get(task.name, USUAL)
            for epsilon in epsilons
            for seed in range(first, first + splits)
        ]
        parts = Parallel(n_jobs=2)(delayed(outcomes)(*job) for job in jobs)
        found = [outcome for part in parts for outcome in part]
        every += found
        print(task.name, {k: round(v, 5) for k, v in summary(found).items()}, flush=True)
    finish(**{k: round(v, 5) for k, v in summary(every).items()})


if __name__ == "__main__":
    main()
