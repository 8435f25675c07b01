"""Are plans from few public rows, or from rows of strangers, no worse than the public model?

    python -m bench.few_rows [DRAWS [FIRST]]

Flights, loans, stays and card rows of the eight largest owners: 100 and 150 public rows, all columns,
ε = 1 and 10, drafted and planned with nothing edited. Exam scores: four schools are public, and 135
others train. `over_public[rows]`: the error of the trained model over that of the public model, on rows
that nobody has seen, in the target's unit, or log loss; mean over draws and ε. `worst`: the largest of
these, mean over trainings. A plan that says that training does not pay is the public model. `pays`: how
many of the plans say that it does.
"""

import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from bench.drafts import Rows, tasks
from bench.records import SHARED
from bench.report import finish
from treaty.arrays import FloatArray
from treaty.losses import Logistic
from treaty.records import Counts, FrameSource
from treaty.records.values import as_numbers
from treaty.settings.expecting import Judge
from treaty.settings.planning import Limits, planned
from treaty.simulation import simulated_models
from treaty.terms import Treaty, encoder_of, loads, plan_of
from treaty.terms.draft import draft

DRAWS = 4
FEW = (100, 150)
EPSILONS = (1.0, 10.0)
OWNERS, SCHOOLS = 8, 4
HELD_OUT, HELD = 10_000, 60_000
RUNS = 8


@dataclass(frozen=True, eq=False)
class Draw:
    """Public rows, the owners' rows, and rows to judge by.

    Args:
        name: what the figures of this draw are called.
        target: the column to predict.
        public: the public rows.
        owners: the owners' rows, by owner.
        later: rows that nobody has seen.
        by: the column that says whose a public row is, where these are strangers.
    """

    name: str
    target: str
    public: pl.DataFrame
    owners: dict[str, pl.DataFrame]
    later: pl.DataFrame
    by: str | None = None


def draws(seed: int) -> Iterator[Draw]:
    """Return draws of all kinds of records."""
    for name, rows in tasks().items():
        mixed = _largest(rows).sample(fraction=1.0, shuffle=True, seed=seed)
        for few in FEW:
            later = mixed[few : few + HELD_OUT]
            held = mixed[few + HELD_OUT : few + HELD_OUT + HELD]
            public = mixed[:few].drop("owner")
            counts = public[rows.target].value_counts()["count"].to_list()
            if rows.labels and (len(counts) < 2 or min(counts) < 2):
                print(f"{name}, {few}, draw {seed}: not two rows with either label; left out")
                continue
            yield Draw(f"{name}, {few}", rows.target, public, _by(held, "owner"), later)
    exams = pl.read_parquet(SHARED / "school.parquet")
    exams = exams.with_columns(school=pl.col("school").cast(pl.String))
    names = exams["school"].unique().sort().to_list()
    chosen = np.random.default_rng(seed).choice(names, SCHOOLS, replace=False).tolist()
    known, others = (
        exams.filter(pl.col("school").is_in(chosen) == inside) for inside in (True, False)
    )
    half = np.random.default_rng(seed).random(len(others)) < 0.5
    own, later = others.filter(pl.Series(half)), others.filter(pl.Series(~half))
    yield Draw("exams, 4 schools", "score", known, _by(own, "school"), later, "school")


def _largest(rows: Rows) -> pl.DataFrame:
    owners = rows.frame["owner"].value_counts(sort=True)["owner"].head(OWNERS)
    return rows.frame.filter(pl.col("owner").is_in(owners.to_list()))


def _by(frame: pl.DataFrame, column: str) -> dict[str, pl.DataFrame]:
    return {str(key[0]): rows for key, rows in frame.partition_by(column, as_dict=True).items()}


def judged(draw: Draw, epsilon: float) -> tuple[float, float, bool]:
    """Return the trained model's error, the public model's, and whether the plan says train."""
    numbers = {name: len(rows) for name, rows in draw.owners.items()}
    source = FrameSource(draw.public)
    document = loads(draft(source, target=draw.target, by=draw.by, owners=numbers).text)
    parties = tuple(p.model_copy(update={"epsilon": epsilon}) for p in document.parties)
    document = document.model_copy(update={"parties": parties})
    judge = Judge(source, [*document.features, draw.target], by=draw.by)
    *_, found = planned(document, judge, Limits())
    settled, surveyed = judge.in_place(found.treaty), judge.surveyed(found.treaty)
    encoder, ready = encoder_of(settled), plan_of(settled).informed_by(surveyed)
    risks = {
        name: encoder.risk(ready.problem.loss, FrameSource(rows))[0]
        for name, rows in draw.owners.items()
    }
    start = "public" if settled.training.start == "public" else "tuned"
    public = _error(settled, draw.later, surveyed.model(start).theta)
    if not found.pays:
        return public, public, False
    models = simulated_models(ready, risks, runs=RUNS, seed=1)
    trained = statistics.fmean(_error(settled, draw.later, model) for model in models)
    return trained, public, True


def _error(settled: Treaty, rows: pl.DataFrame, model: FloatArray) -> float:
    scores = encoder_of(settled).x(rows) @ model
    column = settled.target.column
    if settled.target.bounds is None:
        return float(
            np.mean(Logistic().value(scores, settled.target.encode(rows[column], Counts())))
        )
    centre, scale = settled.target.scaling
    truth = as_numbers(column, rows[column], Counts())
    return math.sqrt(float(np.mean((centre + scale * scores - truth) ** 2)))


def main() -> None:
    words = [int(word) for word in sys.argv[1:]]
    count = words[0] if words else DRAWS
    first = words[1] if len(words) > 1 else 0
    ratios: defaultdict[str, list[float]] = defaultdict(list)
    pays: defaultdict[str, int] = defaultdict(int)
    for seed in range(first, first + count):
        for draw in draws(seed):
            for epsilon in EPSILONS:
                trained, public, trains = judged(draw, epsilon)
                ratios[draw.name].append(trained / public)
                pays[draw.name] += trains
                said = "" if trains else " (training does not pay)"
                print(
                    f"{draw.name}, draw {seed}, ε = {epsilon:g}: trained {trained:.4f}, public rows "
                    f"only {public:.4f}{said}",
                    flush=True,
                )
    finish(
        over_public={name: round(statistics.fmean(each), 4) for name, each in ratios.items()},
        worst={name: round(max(each), 4) for name, each in ratios.items()},
        pays=dict(pays),
        plans={name: len(each) for name, each in ratios.items()},
    )


if __name__ == "__main__":
    main()
