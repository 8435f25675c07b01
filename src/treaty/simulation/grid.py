"""Simulations over a grid of plans, on all cores or on a cluster."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from joblib import Parallel, delayed  # pyright: ignore[reportUnknownVariableType]

from treaty.fitness import Risk, Yardstick, yardstick
from treaty.plans import Plan
from treaty.simulation.simulation import Record, Simulation, simulate


def sweep(
    plans: Sequence[Plan],
    risks: Mapping[str, Risk],
    *,
    runs: int = 100,
    seed: int = 0,
    record: Record = "final",
    jobs: int | None = None,
) -> list[Simulation]:
    """Simulate every plan on the same records, with common random numbers.

    joblib does the spreading, so that a cluster takes over where one is set up:
    `with joblib.parallel_config(backend="dask"): treaty.sweep(...)`.

    Args:
        plans: the plans, all of the same problem.
        risks: the records of every party, by name.
        runs: how many runs of each.
        seed: one seed for all plans.
        record: as in `simulate`.
        jobs: how many at once; joblib's default if not given.
    """
    stick: Yardstick = yardstick(plans[0].problem, risks)
    one = cast(Any, delayed(simulate))
    work = [
        one(
            plan,
            risks,
            runs=runs,
            seed=seed,
            record=record,
            measured_with=stick,
        )
        for plan in plans
    ]
    return list(cast(Any, Parallel(n_jobs=jobs)(work)))
