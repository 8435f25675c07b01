"""The cases in which the cost of privacy is measured: real rows, owners, columns, what is predicted."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from bench.owners import flights_by, stays
from bench.records import SHARED
from treaty.arrays import FloatArray
from treaty.fitness import MomentRisk, Moments, Problem, Risk, optimum, pooled
from treaty.records import Counts, DictionaryTerms, Encoder, FrameSource
from treaty.records.values import as_numbers
from treaty.terms import Treaty, encoder_of, fit, loads, problem_of
from treaty.terms.draft import draft

Frames = dict[str, pl.DataFrame]


@dataclass(frozen=True, eq=False)
class Case:
    """Owners with records, public rows, and a draft among them.

    Args:
        name: of the case.
        public: public rows.
        owners: the owners' rows.
        treaty: the draft.
        keep: what a plan leaves as it is, so that models are compared on the same columns.
    """

    name: str
    public: pl.DataFrame
    owners: Mapping[str, pl.DataFrame]
    treaty: Treaty
    keep: tuple[str, ...]

    def at(self, epsilon: float) -> Treaty:
        """Return the draft with one ε for all."""
        parties = tuple(p.model_copy(update={"epsilon": epsilon}) for p in self.treaty.parties)
        return self.treaty.model_copy(update={"parties": parties})

    @property
    def labels(self) -> bool:
        """Whether labels are predicted."""
        return self.treaty.target.bounds is None

    @cached_property
    def rows(self) -> pl.DataFrame:
        """All owners' rows."""
        return pl.concat(self.owners.values())

    @cached_property
    def lowest(self) -> float:
        """f(θ*) of all columns as they are."""
        if "basis" in self.keep:
            return self.best(fit(self.treaty, FrameSource(self.public)))
        terms = DictionaryTerms(standardise="frequency", norm="l1")
        loss = self.treaty.loss.model_copy(update={"ridge": 1e-6})
        plain = self.treaty.model_copy(update={"dictionary": terms, "loss": loss})
        return self.best(fit(plain, FrameSource(self.public)))

    def best(self, settled: Treaty) -> float:
        """Return f(θ*) over the owners' records, of the columns of a settled treaty."""
        problem, encoder = problem_of(settled), encoder_of(settled)
        if self.labels:
            return optimum(problem, self._union(problem, encoder)).value
        m = self._moments(settled)
        theta = np.linalg.lstsq(m.xx, m.xy, rcond=1e-12)[0]
        return float(MomentRisk(m).value(theta)) * settled.target.scaling[1] ** 2

    def value(self, settled: Treaty, models: FloatArray) -> FloatArray:
        """Return f(θ) of models under a settled treaty: in the target's unit, squared."""
        problem, encoder = problem_of(settled), encoder_of(settled)
        if self.labels:
            value = self._union(problem, encoder).value(models)
            return value + ("ridge" in self.keep) * problem.penalty(models)
        value = MomentRisk(self._moments(settled)).value(models)
        return value * settled.target.scaling[1] ** 2

    def _union(self, problem: Problem, encoder: Encoder) -> Risk:
        risks = [
            encoder.rows(problem.fitness_loss, FrameSource(frame))[0]
            for frame in self.owners.values()
        ]
        return pooled(list(risks))

    def _moments(self, settled: Treaty) -> Moments:
        """Return the moments of all owners' rows, targets not clamped; once for every dictionary."""
        columns = settled.model_dump_json(include={"features", "target", "fitted"})
        if columns not in self._known:
            self._known[columns] = self._moments_of(settled)
        return self._known[columns]

    @cached_property
    def _known(self) -> dict[str, Moments]:
        return {}

    def _moments_of(self, settled: Treaty) -> Moments:
        centre, scale = settled.target.scaling
        truth = as_numbers(settled.target.column, self.rows[settled.target.column], Counts())
        return Moments.of([(encoder_of(settled).x(self.rows), (truth - centre) / scale)])


LINEAR = ("knots", "bounds")
"""Kept so that every model is linear in the same columns."""


def _drafted(name: str, frame: pl.DataFrame, target: str, public: int, owners: Frames) -> Case:
    numbers = {owner: len(rows) for owner, rows in owners.items()}
    source = FrameSource(frame[:public].drop("owner", strict=False))
    treaty = loads(draft(source, target=target, by=None, owners=numbers).text)
    return Case(name, frame[:public], owners, treaty, LINEAR)


def _by_owner(name: str, frame: pl.DataFrame, target: str, public: int, fewest: int) -> Case:
    rest = frame[public:].partition_by("owner", as_dict=True)
    owners = {str(key[0]): rows for key, rows in sorted(rest.items()) if len(rows) >= fewest}
    return _drafted(name, frame, target, public, owners)


def _dealt(name: str, frame: pl.DataFrame, target: str, public: int, n: int, each: int) -> Case:
    rest = frame[public : public + n * each]
    owners = {f"owner {i}": rest[i * each : (i + 1) * each] for i in range(n)}
    return _drafted(name, frame, target, public, owners)


def _mixed(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    return frame.drop_nulls().sample(fraction=1.0, shuffle=True, seed=seed)


def flights_few(public: int, seed: int) -> Case:
    """Minutes late, by airline, from four numbers."""
    task = flights_by("carrier")
    frame = task.frame.select("dep_delay", "air_time", "distance", "hour", "arr_delay", "owner")
    return _by_owner("flights, few columns", _mixed(frame, seed), "arr_delay", public, 1_000)


def flights_many(public: int, seed: int) -> Case:
    """Minutes late, by airline, with airports and months."""
    task = flights_by("carrier")
    columns = [*task.numbers, *task.categories, "arr_delay", "owner"]
    return _by_owner(
        "flights, categories", _mixed(task.frame.select(columns), seed), "arr_delay", public, 1_000
    )


def loans(public: int, seed: int) -> Case:
    """Interest rates of three lenders."""
    frame = pl.read_parquet(SHARED / "lending.parquet")
    frame = frame.filter(pl.col("source") == "kuhnrl30_2007_2011")
    columns = ["loan_amnt", "annual_inc", "dti", "inq_last_6mths", "open_acc", "revol_bal"]
    columns += ["revol_util", "total_acc", "term", "int_rate"]
    return _dealt("loans", _mixed(frame.select(columns), seed), "int_rate", public, 3, 8_676)


def stays_dealt(public: int, seed: int) -> Case:
    """Days in hospital, ten owners alike."""
    task = stays()
    columns = [n for n in task.categories if n != "diagnosis_desc"]
    frame = _mixed(task.frame.select(*columns, "length_of_stay"), seed)
    return _dealt("stays", frame, "length_of_stay", public, 10, 7_000)


def stays_by_hospital(public: int, seed: int) -> Case:
    """Days in hospital, by hospital, with diagnoses."""
    task = stays()
    frame = _mixed(task.frame.select(*task.categories, "length_of_stay", "owner"), seed)
    return _by_owner("stays, diagnoses", frame, "length_of_stay", public, 500)


def fraud(ridge: float) -> Callable[[int, int], Case]:
    """Card fraud at three banks: a support vector machine with g = (ridge/2)θᵀθ, as in the papers."""

    def made(public: int, seed: int) -> Case:
        columns = [*(f"V{i}" for i in range(1, 29)), "Amount"]
        frame = pl.read_parquet(SHARED / "creditcard.parquet").select(*columns, "Class")
        frame = _mixed(frame.with_columns(Class=pl.col("Class").cast(pl.String)), seed)
        name = f"fraud, g = ({ridge:g}/2)|θ|²"
        case = _dealt(name, frame, "Class", public, 3, 10_000)
        text = {
            "dictionary": {"standardise": "public", "norm": "l1", "radius_quantile": 0.5},
            "loss": {"name": "hinge", "ridge": ridge, "theta_max": math.sqrt(2 / ridge)},
        }
        plain = case.treaty.model_dump(mode="json")
        treaty = Treaty.model_validate({**plain, **text})
        keep = ("bounds", "knots", "categories", "basis", "ridge")
        return replace(case, treaty=treaty, keep=keep)

    return made


def cards(public: int, seed: int) -> Case:
    """Card fraud at three banks: log loss."""
    frame = pl.read_parquet(SHARED / "creditcard.parquet").drop("Time", "random_sample")
    frame = _mixed(frame.with_columns(Class=pl.col("Class").cast(pl.String)), seed)
    return _dealt("cards", frame, "Class", public, 3, 10_000)


CASES: dict[str, Callable[[int, int], Case]] = {
    "flights": flights_few,
    "flights_categories": flights_many,
    "loans": loans,
    "stays": stays_dealt,
    "stays_diagnoses": stays_by_hospital,
    "fraud_1": fraud(1.0),
    "fraud_1e-5": fraud(1e-5),
    "cards": cards,
}
