"""Rows for the benchmarks: real ones where ../shared/data is present, else generated, and said so.

Everything goes through the package's own encoder and public dictionary: the dictionary is fitted on
rows that no owner holds.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from treaty.arrays import FloatArray
from treaty.losses import Domain
from treaty.records import (
    Counts,
    DictionaryTerms,
    Encoder,
    Feature,
    Number,
    OneHot,
    Ordinal,
    Target,
)
from treaty.records.encoder import encode
from treaty.records.fitting import fit_dictionary
from treaty.studies.flights import read_flights

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Task:
    """One task: private and public rows, and a dictionary fitted on the public ones.

    Args:
        features: the columns.
        target: the column to predict.
        terms: how columns become x.
        private: the owners' rows, shuffled.
        public: rows that no owner holds.
        source: where the rows come from, in words.
        by: the column that says whose a row is, where owners differ.
    """

    features: dict[str, Feature]
    target: Target
    terms: DictionaryTerms
    private: pl.DataFrame
    public: pl.DataFrame
    source: str
    by: str | None = None

    @cached_property
    def encoder(self) -> Encoder:
        """How a row becomes (x, y)."""
        rows = encode(self.features, self.public, Counts())
        return Encoder(self.features, self.target, fit_dictionary(self.terms, self.features, rows))

    def rows(self, frame: pl.DataFrame) -> tuple[FloatArray, FloatArray]:
        """Return encoded rows."""
        x = np.ascontiguousarray(self.encoder.x(frame))
        return x, self.target.encode(frame[self.target.column], Counts())

    @cached_property
    def private_rows(self) -> tuple[FloatArray, FloatArray]:
        """The owners' rows, encoded."""
        return self.rows(self.private)

    @cached_property
    def public_rows(self) -> tuple[FloatArray, FloatArray]:
        """The public rows, encoded."""
        return self.rows(self.public)

    @property
    def domain(self) -> Domain:
        """The public domain."""
        return self.encoder.domain

    @property
    def intercept(self) -> int | None:
        """The index of the constant column."""
        return self.encoder.dictionary.intercept_index

    def resampled(self, rows: int, seed: int) -> tuple[FloatArray, FloatArray]:
        """Return `rows` private rows drawn with replacement."""
        x, y = self.private_rows
        pick = np.random.default_rng(seed).integers(len(y), size=rows)
        return x[pick], y[pick]


def lending(public_rows: int = 10_000, seed: int = 7) -> Task:
    """LendingClub loans: interest rate from ten principal components of loan and borrower."""
    features: dict[str, Feature] = {
        "loan_amnt": Number(bounds=(0, 40_000)),
        "installment": Number(bounds=(0, 1_700)),
        "annual_inc": Number(bounds=(0, 1_000_000), log1p=True),
        "dti": Number(bounds=(0, 40)),
        "delinq_2yrs": Number(bounds=(0, 10)),
        "inq_last_6mths": Number(bounds=(0, 10)),
        "open_acc": Number(bounds=(0, 50)),
        "pub_rec": Number(bounds=(0, 5)),
        "revol_bal": Number(bounds=(0, 500_000), log1p=True),
        "revol_util": Number(bounds=(0, 120)),
        "total_acc": Number(bounds=(0, 100)),
        "term": Number(bounds=(36, 60)),
    }
    target = Target(column="int_rate", bounds=(5.0, 30.0))
    file = SHARED / "lending.parquet"
    if file.exists():
        frame = pl.read_parquet(file).filter(pl.col("source") == "kuhnrl30_2007_2011")
        frame = frame.filter(pl.col("int_rate").is_not_null())
        source = "real LendingClub rows, 2007-2011"
    else:
        frame, source = _generated(features, "int_rate", (5.0, 30.0)), "generated rows"
    dictionary = DictionaryTerms(
        standardise="public", components=10, whiten=True, radius_quantile=0.98, norm="l1"
    )
    return _task(frame, features, target, dictionary, public_rows, source, seed)


def cards(public_rows: int = 5_000, seed: int = 7) -> Task:
    """ULB card transactions: fraud or not, from the published components and the amount."""
    columns = [f"V{i}" for i in range(1, 29)]
    features: dict[str, Feature] = {name: Number(bounds=(-30, 30)) for name in columns}
    features["Amount"] = Number(bounds=(0, 30_000), log1p=True)
    target = Target(column="Class", labels=("0", "1"))
    file = SHARED / "creditcard.parquet"
    if file.exists():
        frame = pl.read_parquet(file)
        source = "real ULB card rows, 1.37% frauds"
    else:
        frame, source = _generated(features, "Class", None), "generated rows"
    dictionary = DictionaryTerms(standardise="public", radius_quantile=0.5, norm="l1")
    return _task(frame, features, target, dictionary, public_rows, source, seed)


def hospital(public_rows: int = 5_000, seed: int = 7) -> Task:
    """New York discharges: length of stay, by hospital."""
    features: dict[str, Feature] = {
        "age_group": Ordinal(
            kind="ordinal",
            categories=("0 to 17", "18 to 29", "30 to 49", "50 to 69", "70 or Older"),
        ),
        "gender": OneHot(kind="one-hot", categories=("Female", "Male")),
        "type_of_admission": OneHot(
            kind="one-hot", categories=("Emergency", "Elective", "Newborn", "Urgent")
        ),
        "payment_1": OneHot(kind="one-hot", categories=("Government", "Private")),
        "ed_indicator": OneHot(kind="one-hot", categories=("Yes", "No")),
        "patient_disposition": OneHot(
            kind="one-hot",
            categories=("Home / Self Care", "Long-Term / Custodial Care", "Acute / Hospital Care"),
        ),
    }
    target = Target(column="length_of_stay", bounds=(0.0, 30.0))
    file = SHARED / "hospital.parquet"
    if file.exists():
        frame = pl.read_parquet(file).filter(pl.col("source") == "sparcs2021_75hospitals")
        frame = frame.with_columns(owner=pl.col("facility_name").cast(pl.String))
        source = "real New York discharges, 2021"
    else:
        frame = _generated_stays()
        source = "generated rows"
    dictionary = DictionaryTerms(
        standardise="public", components=6, whiten=True, radius_quantile=0.95, norm="l1"
    )
    return _task(frame, features, target, dictionary, public_rows, source, seed, by="owner")


def flights(public_rows: int = 5_000, seed: int = 7) -> Task:
    """Flights from New York, by airline: how late one arrives."""
    features: dict[str, Feature] = {
        "dep_delay": Number(bounds=(-30, 240)),
        "distance": Number(bounds=(0, 5000)),
        "air_time": Number(bounds=(0, 700)),
        "hour": Number(bounds=(0, 24)),
        "month": Number(bounds=(1, 12)),
        "origin": OneHot(kind="one-hot", categories=("EWR", "JFK", "LGA")),
    }
    dictionary = DictionaryTerms(
        standardise="public", components=7, whiten=True, radius_quantile=0.95, norm="l1"
    )
    return _task(
        read_flights().with_columns(owner=pl.col("carrier")),
        features,
        Target(column="arr_delay", bounds=(-60, 240)),
        dictionary,
        public_rows,
        "real flights, 2013",
        seed,
        by="owner",
    )


def _generated_stays() -> pl.DataFrame:
    random = np.random.default_rng(2)
    n = 60_000
    age = random.integers(5, size=n)
    names = np.array(["0 to 17", "18 to 29", "30 to 49", "50 to 69", "70 or Older"])
    stay = np.ceil(np.clip(random.lognormal(0.8 + 0.15 * age, 0.8), 1, 120))
    return pl.DataFrame(
        {
            "owner": random.choice([f"Hospital {i}" for i in range(12)], n),
            "age_group": names[age],
            "gender": random.choice(["Female", "Male"], n),
            "type_of_admission": random.choice(["Emergency", "Elective", "Newborn", "Urgent"], n),
            "payment_1": random.choice(["Government", "Private", "Other"], n),
            "ed_indicator": random.choice(["Yes", "No"], n),
            "patient_disposition": random.choice(["Home / Self Care", "Other"], n),
            "length_of_stay": stay,
        }
    )


def _task(
    frame: pl.DataFrame,
    features: dict[str, Feature],
    target: Target,
    terms: DictionaryTerms,
    public_rows: int,
    source: str,
    seed: int,
    by: str | None = None,
) -> Task:
    frame = frame.sample(fraction=1.0, shuffle=True, seed=seed)
    return Task(features, target, terms, frame[public_rows:], frame[:public_rows], source, by)


def _generated(
    features: dict[str, Feature], target: str, bounds: tuple[float, float] | None
) -> pl.DataFrame:
    random = np.random.default_rng(1)
    rows = 40_000
    latent = random.standard_normal((rows, len(features)))
    columns: dict[str, FloatArray] = {}
    for j, (name, feature) in enumerate(features.items()):
        assert isinstance(feature, Number)
        low, high = feature.bounds
        columns[name] = np.clip(0.5 * (low + high) + 0.1 * (high - low) * latent[:, j], low, high)
    score = latent[:, :5].sum(axis=1) + random.standard_normal(rows)
    if bounds is None:
        columns[target] = (score > np.quantile(score, 0.986)).astype(float)
    else:
        columns[target] = np.clip(np.mean(bounds) + 2 * score, *bounds)
    return pl.DataFrame(columns)
