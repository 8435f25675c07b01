"""Are drafts good as they stand? `treaty init` on 3,000 public rows, ε = 1, nothing edited; training.

    python -m bench.drafts [SEED] [TASK ...]

Flights by airline, loans by state, stays by hospital, card rows at three banks. `over_pooled`: the error
on rows that nobody has seen over that of scikit-learn with all rows and columns in one place, without
privacy (ridge or logistic regression, tuned by cross-validation). `over_public`: over that of the same
with the public rows. Both are means over five splits, for cards fifteen, and `standard_errors` are those
of over_pooled. Errors are RMSE in the target's unit, not
clamped; for cards log loss. `minutes`: for init and training.
"""

import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bench.owners import flights_by, loans, stays
from bench.records import SHARED
from bench.report import finish
from treaty.models import Model

PUBLIC = 3_000
HELD_OUT = 0.2
SPLITS, OF_CARDS = 5, 15
"""A fifth of the card rows has some 90 frauds: one split is mostly chance."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of several owners, and what is predicted.

    Args:
        frame: the rows; the column `owner` says whose.
        target: the column to predict.
        labels: whether it is a label.
    """

    frame: pl.DataFrame
    target: str
    labels: bool = False

    @property
    def columns(self) -> list[str]:
        """What is predicted from."""
        return [name for name in self.frame.columns if name not in ("owner", self.target)]


def tasks() -> dict[str, Rows]:
    """Return the four kinds of records."""
    found: dict[str, Rows] = {}
    for name, task in (("flights", flights_by("carrier")), ("loans", loans()), ("stays", stays())):
        columns = [*task.numbers, *task.categories, task.target.column, "owner"]
        texts = pl.col(list(task.categories)).cast(pl.String)
        frame = task.frame.select(columns).drop_nulls().with_columns(texts)
        large = frame.filter(pl.len().over("owner") >= 2 * task.fewest)
        found[name] = Rows(large, task.target.column)
    cards = pl.read_parquet(SHARED / "creditcard.parquet")
    banks = np.array([f"bank {i % 3}" for i in range(len(cards))])
    cards = cards.with_columns(owner=pl.Series(banks), Class=pl.col("Class").cast(pl.String))
    found["cards"] = Rows(cards.drop("Time", "random_sample"), "Class", labels=True)
    return found


def drafted(rows: Rows, public: pl.DataFrame, held: pl.DataFrame) -> tuple[Model, float]:
    """Draft, train, and return the model, with the minutes that took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        public.write_parquet(folder / "public.parquet")
        held.write_parquet(folder / "owners.parquet")
        start = time.perf_counter()
        words = ("public.parquet", "--public", "--target", rows.target, "--by", "owner")
        _run(folder, "init", *words, "--data", "owners.parquet", "--out", "treaty.toml")
        words = ("treaty.toml", "--data", "owners.parquet", "--by", "owner")
        _run(folder, "train", *words, "--public", "public.parquet", "--model", "model.json")
        minutes = (time.perf_counter() - start) / 60
        return Model.load(folder / "model.json"), minutes


def _run(folder: Path, *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "treaty", *words, "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    json.loads(done.stdout)


def pooled(rows: Rows, seen: pl.DataFrame):
    """Return scikit-learn's model of rows in one place."""
    texts = [name for name in rows.columns if seen[name].dtype == pl.String]
    numbers = [name for name in rows.columns if name not in texts]
    columns = make_column_transformer(
        (StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), texts)
    )
    model = LogisticRegressionCV(
        Cs=5, scoring="neg_log_loss", max_iter=500, l1_ratios=(0.0,), use_legacy_attributes=False
    )
    if not rows.labels:
        model = RidgeCV(np.logspace(-2, 4, 13))
    return make_pipeline(columns, model).fit(
        seen.select(rows.columns).to_pandas(), seen[rows.target].to_numpy()
    )


def error_of(rows: Rows, model, later: pl.DataFrame) -> float:
    """Return a scikit-learn model's error on rows that nobody has seen."""
    truth = later[rows.target].to_numpy()
    features = later.select(rows.columns)
    if not rows.labels:
        return math.sqrt(float(np.mean((model.predict(features) - truth) ** 2)))
    odds = model.predict_proba(features)
    classes = [str(name) for name in model[-1].classes_]
    right = odds[np.arange(len(truth)), [classes.index(str(each)) for each in truth]]
    return float(-np.mean(np.log(np.maximum(right, 1e-12))))


class _InPandas:
    """A scikit-learn pipeline that was fitted on pandas frames, given Polars ones."""

    def __init__(self, model) -> None:
        self._model = model

    def __getitem__(self, place: int):
        return self._model[place]

    def predict(self, frame: pl.DataFrame):
        return self._model.predict(frame.to_pandas())

    def predict_proba(self, frame: pl.DataFrame):
        return self._model.predict_proba(frame.to_pandas())


def main() -> None:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    over_pooled: dict[str, list[float]] = {}
    over_public: dict[str, list[float]] = {}
    minutes: dict[str, list[float]] = {}
    known = tasks()
    for name in sys.argv[2:] or known:
        rows = known[name]
        for split in range(seed, seed + (OF_CARDS if rows.labels else SPLITS)):
            mixed = rows.frame.sample(fraction=1.0, shuffle=True, seed=split)
            public, rest = mixed[:PUBLIC], mixed[PUBLIC:]
            cut = round(HELD_OUT * len(rest))
            later, held = rest[:cut], rest[cut:]
            model, taken = drafted(rows, public, held)
            ours = error_of(rows, model.to_sklearn(), later)
            everything = error_of(rows, _InPandas(pooled(rows, held)), later)
            of_public = error_of(rows, _InPandas(pooled(rows, public)), later)
            over_pooled.setdefault(name, []).append(ours / everything)
            over_public.setdefault(name, []).append(ours / of_public)
            minutes.setdefault(name, []).append(taken)
            print(
                f"{name}, split {split}: {len(held):,} rows of {held['owner'].n_unique()} owners; "
                f"error {ours:.4f}, pooled {everything:.4f}, public rows only {of_public:.4f}; "
                f"{taken:.1f} minutes",
                flush=True,
            )
    finish(
        over_pooled={name: round(statistics.fmean(each), 4) for name, each in over_pooled.items()},
        standard_errors={
            name: round(statistics.stdev(each) / math.sqrt(len(each)), 4)
            for name, each in over_pooled.items()
        },
        over_public={name: round(statistics.fmean(each), 4) for name, each in over_public.items()},
        minutes={name: round(statistics.fmean(each), 2) for name, each in minutes.items()},
    )


if __name__ == "__main__":
    main()
