"""Is the papers' view true where owners differ? Forecasts from public rows, then measured.

    python -m bench.verdicts [SPLITS [FIRST]]

Flights by airline and by airport, stays by hospital, loans by state; 1,000 to 5,000 public rows that say
whose they are; several methods and budgets. `coverage_alone` and `coverage_together` are the shares of
measured ψ inside the stated 90% intervals: of every owner's own model over everybody's records, and of
the mean of trainings together. `told` is the share of owners that get a firm verdict, "better off
together" or "better off alone"; `wrong` is the share of firm verdicts that measurement contradicts.
"""

import sys

import numpy as np
import polars as pl
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from bench.owners import OwnersTask, flights_by, loans, stays
from bench.report import finish
from treaty import Evidence, forecast, simulate, yardstick
from treaty.fitness import model_alone, risk_of
from treaty.forecasting.verdict import beats
from treaty.records import Counts
from treaty.terms import Treaty, encoder_of, fit, plan_of

SPLITS = 2
PUBLIC_ROWS = (1_000, 2_000, 5_000)
RUNS = 50
"""A measured ψ is the mean of so many trainings."""
SETTINGS = (
    ("shrinking-steps", 10, 1.0),
    ("averaged-subgradient", 20, 10.0),
    ("one-at-a-time", 200, 3.0),
    ("blended-step", 1, 1.0),
)
"""Method, horizon and ε."""
CLIP = 5.0
Found = dict[str, float | str]


def treaty_among(
    task: OwnersTask,
    public: pl.DataFrame,
    sizes: dict[str, int],
    setting: tuple[str, int, float],
) -> Treaty:
    """Return a treaty of some method among owners."""
    method, horizon, epsilon = setting
    start = "tuned" if method == "blended-step" else "public"
    return Treaty.model_validate(
        {
            "version": 1,
            "title": task.name,
            "features": {n: f.model_dump() for n, f in task.features(public).items()},
            "target": task.target.model_dump(),
            "dictionary": {"standardise": "frequency", "norm": "l1"},
            "loss": {"name": "squared", "clip": CLIP, "ridge": 1e-5, "theta_max": 10.0},
            "training": {"method": method, "horizon": horizon, "start": start},
            "parties": [{"name": n, "records": r, "epsilon": epsilon} for n, r in sizes.items()],
        }
    )


def cases(task: OwnersTask, public_rows: int, seed: int) -> list[Found]:
    """Forecast and measure every setting of one split."""
    with threadpool_limits(1):
        public, owners = task.split(public_rows, seed)
        sizes = {name: len(rows) for name, rows in owners.items()}
        evidence = Evidence(public, by="owner")
        found: list[Found] = []
        alone: dict[str, float] = {}
        stick = None
        for setting in SETTINGS:
            document = fit(treaty_among(task, public, sizes, setting), public)
            told = forecast(document, evidence, precision=0.05)
            plan = plan_of(document)
            encoder = encoder_of(document)
            loss = plan.problem.loss
            risks = {
                name: risk_of(
                    loss,
                    np.ascontiguousarray(encoder.x(rows)),
                    task.target.encode(rows[task.target.column], Counts()),
                )
                for name, rows in owners.items()
            }
            if stick is None:
                stick = yardstick(plan.problem, risks)
                alone = {
                    name: float(stick.relative(model_alone(plan.problem, risk)))
                    for name, risk in risks.items()
                }
            ready = evidence.ground(document).plan.with_steps()
            measured = simulate(ready, risks, runs=RUNS, seed=seed, measured_with=stick).mean
            print(
                f"{task.name}, {public_rows} public rows, {setting}: together forecast "
                f"{told.together}, measured {measured:.3g}",
                flush=True,
            )
            for name, own in told.alone.items():
                together, by_itself = beats(told.together, own), beats(own, told.together)
                known = name not in told.unknown
                found.append(
                    {
                        "task": task.name,
                        "owner": name,
                        "setting": str(setting),
                        "rows": public_rows,
                        "records": sizes[name],
                        "together": measured,
                        "together_low": told.together.low,
                        "together_high": told.together.high,
                        "alone": alone[name],
                        "alone_value": own.value,
                        "alone_low": own.low,
                        "alone_high": own.high,
                        "told": float(known and (together or by_itself)),
                        "says": "together" if together else "alone",
                    }
                )
        return found


def summary(found: list[Found]) -> dict[str, float]:
    """Return the figures of some owner-cases."""
    rows = pl.DataFrame(found)

    def inside(what: str) -> pl.Expr:
        return pl.col(what).is_between(pl.col(f"{what}_low"), pl.col(f"{what}_high"))

    firm = rows.filter(pl.col("told") == 1.0)
    right = pl.when(pl.col("alone") > pl.col("together")).then(pl.lit("together"))
    wrong = firm.select((pl.col("says") != right.otherwise(pl.lit("alone"))).mean()).item()
    groups = rows.group_by("task", "setting", "rows", "together").first()
    own = rows.group_by("task", "owner", "rows", "alone").first()
    return {
        "owner_cases": len(rows),
        "trainings": len(groups),
        "coverage_alone": float(own.select(inside("alone").mean()).item()),
        "coverage_together": float(groups.select(inside("together").mean()).item()),
        "wrong": float("nan") if wrong is None else float(wrong),
        "told": float(rows["told"].mean()),  # pyright: ignore[reportArgumentType]
        "said_alone": float(firm.select((pl.col("says") == "alone").mean()).item() or 0.0),
        "factor_alone": float(
            own.select((pl.col("alone_high") / pl.col("alone_low")).median()).item()
        ),
    }


def main() -> None:
    """Measure, print a line a task, then one of JSON."""
    splits = int(sys.argv[1]) if len(sys.argv) > 1 else SPLITS
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    every: list[Found] = []
    for task in (flights_by("carrier"), flights_by("dest"), stays(), loans()):
        jobs = [(task, rows, s) for rows in PUBLIC_ROWS for s in range(first, first + splits)]
        parts = Parallel(n_jobs=2)(delayed(cases)(*job) for job in jobs)
        found = [one for part in parts for one in part]
        every += found
        print(task.name, {k: round(v, 4) for k, v in summary(found).items()}, flush=True)
    finish(**{k: round(v, 4) for k, v in summary(every).items()})


if __name__ == "__main__":
    main()
