"""Owners that differ, for the benchmarks of the owner's own question: real rows, at least 35 columns.

Categories, knots and frequencies come from the public rows of each split, as a treaty's would.
"""

import functools
from dataclasses import dataclass

import polars as pl

from bench.records import SHARED
from treaty.records import Feature, Hats, OneHot, Target
from treaty.studies.flights import read_flights

FEWEST_PUBLIC = 3
"""A category is in the treaty if so many public rows have it."""


@dataclass(frozen=True, eq=False)
class OwnersTask:
    """Real rows of owners that differ.

    Args:
        name: of the task.
        frame: all rows; the column `owner` says whose each is.
        numbers: columns that become hats, with their bounds and how many knots.
        categories: columns that become one column a category, with the most of them that are kept.
        target: the column to predict.
        fewest: how many records an owner needs to be one.
    """

    name: str
    frame: pl.DataFrame
    numbers: dict[str, tuple[float, float, int]]
    categories: dict[str, int]
    target: Target
    fewest: int = 100

    def features(self, public: pl.DataFrame) -> dict[str, Feature]:
        """Return the columns of a treaty among these owners, from public rows alone."""
        found: dict[str, Feature] = {
            name: Hats(kind="hats", bounds=(low, high), quantiles=knots)
            for name, (low, high, knots) in self.numbers.items()
        }
        for name, most in self.categories.items():
            counted = public[name].cast(pl.String).value_counts(sort=True).drop_nulls()
            kept = counted.filter(pl.col("count") >= FEWEST_PUBLIC)[name].head(most)
            found[name] = OneHot(kind="one-hot", categories=tuple(sorted(kept.to_list())))
        return found

    def split(self, public_rows: int, seed: int) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
        """Draw public rows at random; return them, and the rest by owner, owners with few left out."""
        mixed = self.frame.sample(fraction=1.0, shuffle=True, seed=seed)
        rest = mixed[public_rows:].partition_by("owner", as_dict=True)
        owners = {str(key[0]): rows for key, rows in rest.items() if len(rows) >= self.fewest}
        return mixed[:public_rows], dict(sorted(owners.items()))


@functools.cache
def flights_by(owner: str) -> OwnersTask:
    """Flights from New York by airline ("carrier") or by airport ("dest"): minutes late."""
    month = pl.col("month").cast(pl.String)
    frame = read_flights().with_columns(owner=pl.col(owner), month=month)
    categories = {"origin": 3, "month": 12, "carrier": 16, "dest": 40}
    return OwnersTask(
        f"flights by {'airline' if owner == 'carrier' else 'airport'}",
        frame,
        {
            "dep_delay": (-30, 240, 8),
            "air_time": (20, 700, 6),
            "distance": (0, 5000, 5),
            "hour": (0, 24, 5),
        },
        {name: most for name, most in categories.items() if name != owner},
        Target(column="arr_delay", bounds=(-60, 240), unit="minutes", label="arrival delay"),
    )


@functools.cache
def loans() -> OwnersTask:
    """LendingClub loans of 2007 to 2011 by state: the interest rate, in percentage points."""
    frame = pl.read_parquet(SHARED / "lending.parquet")
    frame = frame.filter(
        (pl.col("source") == "kuhnrl30_2007_2011") & pl.col("int_rate").is_not_null()
    )
    frame = frame.with_columns(
        owner=pl.col("addr_state").cast(pl.String), term=pl.col("term").cast(pl.String)
    )
    return OwnersTask(
        "loans by state",
        frame,
        {
            "loan_amnt": (0, 40_000, 5),
            "annual_inc": (0, 300_000, 5),
            "dti": (0, 40, 4),
            "inq_last_6mths": (0, 8, 4),
            "open_acc": (0, 50, 4),
            "revol_bal": (0, 100_000, 4),
            "revol_util": (0, 100, 6),
            "total_acc": (0, 100, 4),
        },
        {
            "term": 2,
            "home_ownership": 5,
            "verification_status": 3,
            "purpose": 14,
            "emp_length": 12,
        },
        Target(column="int_rate", bounds=(5, 25), unit="points", label="interest rate"),
    )


@functools.cache
def stays() -> OwnersTask:
    """New York discharges of 2021 by hospital: the length of stay, in days."""
    frame = pl.read_parquet(SHARED / "hospital.parquet")
    frame = frame.filter(pl.col("source") == "sparcs2021_75hospitals")
    frame = frame.with_columns(owner=pl.col("facility_name").cast(pl.String))
    return OwnersTask(
        "stays by hospital",
        frame,
        {},
        {
            "age_group": 5,
            "gender": 3,
            "type_of_admission": 6,
            "patient_disposition": 5,
            "payment_1": 4,
            "ed_indicator": 2,
            "diagnosis_desc": 100,
        },
        Target(column="length_of_stay", bounds=(0, 60), unit="days", label="length of stay"),
    )


@functools.cache
def exams() -> OwnersTask:
    """Exam scores by school, in points of 70; the percentages of a school are hats."""
    frame = pl.read_parquet(SHARED / "school.parquet")
    flags = [
        name
        for name in frame.columns
        if frame[name].dtype != pl.String and name not in ("score", "x03", "x04")
    ]
    frame = frame.with_columns(
        owner=pl.col("school"), **{n: pl.col(n).cast(pl.String) for n in flags}
    )
    return OwnersTask(
        "exam scores by school",
        frame,
        {"x03": (0, 100, 5), "x04": (0, 100, 5)},
        dict.fromkeys(flags, 1),
        Target(column="score", bounds=(0, 70), unit="points", label="exam score"),
    )


def tasks() -> list[OwnersTask]:
    """Return the tasks."""
    return [flights_by("carrier"), flights_by("dest"), stays(), loans(), exams()]
