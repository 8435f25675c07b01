"""Does joining make an owner's predictions on its own next records better? Measured on real rows.

    python -m bench.own_gain [SPLITS [FIRST]]

For each task, ε and number of public rows, over ten splits: every owner's error on its own held-out
records, alone (tuned), with the public model adapted, with the shared model adapted, and with all
records in one place without privacy, adapted. The best rival is the one that the owner's own
cross-validation picks without joining.
"""

import sys

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from bench.own_cases import Case
from bench.owners import OwnersTask, exams, tasks
from bench.report import finish
from treaty.arrays import FloatArray
from treaty.gains import ALONE, CEILING, PUBLIC, TOGETHER, adapted, contest

SPLITS = 10
FEW, MANY = 400, 1500
LOANS_FEW = 300
PUBLISHED = 0.02394
"""Liu, Hu, Wu, Smith 2022: mean-regularised multi-task learning at ε = 6, δ = 1e-3."""
Owners = dict[str, dict[str, float]]


def measured(task: OwnersTask, public_rows: int, epsilons: list[float], seed: int) -> Owners:
    """Return every owner's squared errors on its next records, by model, of one split."""
    with threadpool_limits(1):
        held_out = 0.3 if task is exams() else 0.2
        case = Case(task, public_rows, seed, held_out)
        anchors: dict[str, FloatArray] = {
            PUBLIC: case.survey.tuned.theta[None],
            CEILING: case.pooled()[None],
        }
        for epsilon in epsilons:
            anchors[f"{TOGETHER} {epsilon:g}"] = case.shared(epsilon, seed)[None]
        found: Owners = {}
        for name in case.owners:
            made = contest(case.records(name, seed), anchors, case.metrics)
            errors = {key: case.squared_error(name, m[0]) for key, m in made.models.items()}
            found[name] = {**errors, "rival": errors[made.rival]}
            found[name]["records"] = len(case.owners[name].y)
        found[""] = {"columns": case.problem.dimension}
        return found


def summary(runs: list[Owners], epsilon: float) -> dict[str, float]:
    """Return the figures of one setting, from the errors of all splits."""
    names = sorted(set.intersection(*({n for n in run if n} for run in runs)))

    def error(key: str) -> FloatArray:
        return np.sqrt([np.mean([run[name][key] for run in runs]) for name in names])

    together = f"{TOGETHER} {epsilon:g}"
    own, rival, ceiling, joined = (
        error(key) for key in (ALONE, "rival", adapted(CEILING), adapted(together))
    )
    gain, most = 1 - np.mean(joined / rival), 1 - np.mean(ceiling / rival)
    return {
        "owners": len(names),
        "columns": min(int(run[""]["columns"]) for run in runs),
        "alone": float(own.mean()),
        "rival": float(rival.mean()),
        "together": float(error(together).mean()),
        "adapted": float(joined.mean()),
        "ceiling": float(ceiling.mean()),
        "adapted_over_alone": float(np.mean(joined / own)),
        "adapted_over_rival": float(np.mean(joined / rival)),
        "ceiling_over_rival": float(np.mean(ceiling / rival)),
        "captured": float(gain / most),
        "hurt": float(np.mean(joined > 1.01 * rival)),
    }


def main() -> None:
    """Measure, print a line a setting, then one of JSON."""
    splits = int(sys.argv[1]) if len(sys.argv) > 1 else SPLITS
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    results: dict[str, dict[str, dict[str, float]]] = {}
    school: dict[str, float] = {}
    for task in tasks():
        results[task.name] = {}
        epsilons = [1.0, 3.0, 6.0] if task is exams() else [1.0, 3.0]
        for public_rows in (LOANS_FEW if "loans" in task.name else FEW, MANY):
            runs = Parallel(n_jobs=2)(
                delayed(measured)(task, public_rows, epsilons, seed)
                for seed in range(first, first + splits)
            )
            for epsilon in epsilons:
                key = f"{public_rows} public rows, ε = {epsilon:g}"
                found = {k: round(v, 4) for k, v in summary(runs, epsilon).items()}
                results[task.name][key] = found
                print(f"{task.name}, {key}: {found}", flush=True)
            if task is exams():
                every = [run[n] for run in runs for n in run if n]
                weights = [each["records"] for each in every]
                for name, key in (("adapted", adapted(f"{TOGETHER} 6")), ("rival", "rival")):
                    mean = float(np.average([e[key] for e in every], weights=weights))
                    school[f"{name}_{public_rows}"] = round(mean / 70**2, 5)
    at_one = {t: [f for k, f in by.items() if k.endswith("ε = 1")] for t, by in results.items()}
    finish(
        results=results,
        adapted_over_alone={
            t: max(f["adapted_over_alone"] for f in fs) for t, fs in at_one.items()
        },
        adapted_over_rival={
            t: max(f["adapted_over_rival"] for f in by.values()) for t, by in results.items()
        },
        hurt={t: max(f["hurt"] for f in by.values()) for t, by in results.items()},
        captured=at_one["loans by state"][0]["captured"],
        school_mse=school,
        published=PUBLISHED,
    )


if __name__ == "__main__":
    main()
