"""LendingClub loans: the interest rate, from the loan and the borrower."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.records import DictionaryTerms, Feature, Number, OneHot, Ordinal, Target
from treaty.studies.published import numbers, read_columns
from treaty.studies.study import RowsKind, Study

FULL_ROWS = 890_000
PUBLIC_ROWS = 10_000
DRIFT = 0.5
"""By how many percentage points the made loans' rates drift up and down along the file."""
GRADES = tuple("ABCDEFG")
EMPLOYED = (
    "< 1 year", "1 year", "2 years", "3 years", "4 years", "5 years", "6 years", "7 years",
    "8 years", "9 years", "10+ years",
)  # fmt: skip
HOMES = ("RENT", "OWN", "MORTGAGE")
VERIFIED = ("Not Verified", "Source Verified", "Verified")
PURPOSES = (
    "car", "credit_card", "debt_consolidation", "educational", "home_improvement", "house",
    "major_purchase", "medical", "moving", "other", "renewable_energy", "small_business",
    "vacation", "wedding",
)  # fmt: skip
STATES = (
    "AK", "AL", "AR", "AZ", "CA", "CO", "CT", "DC", "DE", "FL", "GA", "HI", "IA", "ID", "IL", "IN",
    "KS", "KY", "LA", "MA", "MD", "ME", "MI", "MN", "MO", "MS", "MT", "NC", "ND", "NE", "NH", "NJ",
    "NM", "NV", "NY", "OH", "OK", "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VA", "VT", "WA",
    "WI", "WV", "WY",
)  # fmt: skip
CATEGORIES = {
    "grade": GRADES,
    "emp_length": EMPLOYED,
    "home_ownership": HOMES,
    "verification_status": VERIFIED,
    "purpose": PURPOSES,
    "addr_state": STATES,
}
NUMBERS: dict[str, Number] = {
    "loan_amnt": Number(bounds=(0, 40_000)),
    "term": Number(bounds=(36, 60)),
    "installment": Number(bounds=(0, 1_700)),
    "annual_inc": Number(bounds=(0, 1_000_000), log1p=True),
    "dti": Number(bounds=(0, 60)),
    "delinq_2yrs": Number(bounds=(0, 10), missing=0),
    "inq_last_6mths": Number(bounds=(0, 10), missing=0),
    "open_acc": Number(bounds=(0, 60), missing=10),
    "pub_rec": Number(bounds=(0, 5), missing=0),
    "revol_bal": Number(bounds=(0, 500_000), log1p=True),
    "revol_util": Number(bounds=(0, 120)),
    "total_acc": Number(bounds=(0, 120), missing=22),
}
TARGET = Target(column="int_rate", bounds=(5.0, 30.0))
COLUMNS = [*NUMBERS, *CATEGORIES, TARGET.column]
"""What is kept: identifiers, addresses, texts and what happened after the loan was made are not."""


def features(*, one_hot: bool = False) -> dict[str, Feature]:
    """Return the columns; categories as integers, as the papers have them, or as a column each."""
    kind = OneHot if one_hot else Ordinal
    made: dict[str, Feature] = dict(NUMBERS)
    for column, categories in CATEGORIES.items():
        made[column] = kind(
            kind="one-hot" if one_hot else "ordinal",  # pyright: ignore[reportArgumentType]
            categories=categories,
        )
    return made


def study(frame: pl.DataFrame, kind: RowsKind, *, one_hot: bool = False) -> Study:
    """Return the study of loans: ten principal components of the last 10,000 rows."""
    terms = DictionaryTerms(
        standardise="public", components=10, whiten=True, radius_quantile=0.98, norm="l1"
    )
    public = min(PUBLIC_ROWS, len(frame) // 4)
    return Study("lending", features(one_hot=one_hot), TARGET, terms, frame, public, kind)


def read(path: str | Path) -> pl.DataFrame:
    """Read LendingClub's `loan.csv` as published, or Parquet rows with its columns.

    Exports begin with a line about a prospectus, have blank lines, and end with totals; rates are
    written "13.5%" and terms " 36 months".
    """

    def choose(names: Sequence[str]) -> dict[str, str]:
        missing = [column for column in COLUMNS if column not in names]
        if missing:
            raise TreatyError(f'there is no column "{missing[0]}": not LendingClub\'s loans')
        return {column: column for column in COLUMNS}

    text = read_columns(path, choose, skip_rows=_header)
    frame = text.with_columns(numbers(*NUMBERS, TARGET.column))
    return frame.filter(pl.col("int_rate").is_not_null() & pl.col("loan_amnt").is_not_null())


def _header(path: Path) -> int:
    """Return on which line the names of the columns are."""
    with path.open(encoding="utf8", errors="replace") as file:
        for number, line in enumerate(file):
            if re.search(r"\bloan_amnt\b", line):
                return number
            if number > 20:
                break
    raise TreatyError(f'{path}: there is no column "loan_amnt": not LendingClub\'s loans')


def generate(rows: int = FULL_ROWS, seed: int = 0) -> pl.DataFrame:
    """Make loans with the same columns: what is common to them is the risk of the borrower.

    On the 42,535 real loans of 2007 to 2011 a linear model of all columns explains 0.89 of the rates'
    variance, and one of their ten principal components 0.75; here about the same. Rates drift along the
    file, so that owners of neighbouring rows differ, as in the real one.
    """
    random = np.random.default_rng(seed)
    risk, wealth = random.standard_normal(rows), random.standard_normal(rows)
    income = np.exp(11.0 + 0.5 * wealth)
    amount = np.clip(np.exp(9.2 + 0.35 * wealth + 0.5 * random.standard_normal(rows)), 500, 40_000)
    long = random.random(rows) < 1 / (1 + np.exp(1.2 - 0.9 * risk - 0.9 * (amount > 15_000)))
    rate = 12.4 + 2.9 * risk + 1.6 * long + 0.8 * random.standard_normal(rows)
    drift = DRIFT * np.cos(2.5 * np.pi * np.arange(rows) / rows)
    rate = np.clip(rate + drift + 0.3 * (amount - 12_000) / 10_000, 5.3, 28.9)
    grade = np.clip((rate - 5.3 + 1.0 * random.standard_normal(rows)) / 3.0, 0, 6.99).astype(int)
    monthly = rate / 1200
    months = np.where(long, 60, 36)
    return pl.DataFrame(
        {
            "loan_amnt": amount.round(-2),
            "term": months.astype(float),
            "installment": amount * monthly / (1 - (1 + monthly) ** -months),
            "annual_inc": income.round(),
            "dti": np.clip(14 + 2.5 * risk - 2 * wealth + 6 * random.standard_normal(rows), 0, 40),
            "delinq_2yrs": random.poisson(np.exp(0.4 * risk - 2.2)).astype(float),
            "inq_last_6mths": random.poisson(np.exp(0.35 * risk - 0.3)).astype(float),
            "open_acc": random.poisson(np.exp(2.2 + 0.15 * wealth)).astype(float),
            "pub_rec": random.poisson(np.exp(0.4 * risk - 3.0)).astype(float),
            "revol_bal": np.exp(9.1 + 0.5 * wealth + 0.9 * random.standard_normal(rows)).round(),
            "revol_util": np.clip(49 + 14 * risk + 22 * random.standard_normal(rows), 0, 110),
            "total_acc": random.poisson(np.exp(3.0 + 0.2 * wealth)).astype(float),
            "grade": pl.Series(GRADES).gather(grade),
            "emp_length": _drawn(random, EMPLOYED, rows, _weights(len(EMPLOYED), last=4.0)),
            "home_ownership": _drawn(random, HOMES, rows, [0.47, 0.08, 0.45]),
            "verification_status": pl.Series(VERIFIED).gather(
                np.clip((wealth + risk + 1.5 * random.standard_normal(rows) + 1.6) / 1.4, 0, 2.99)
                .astype(int)
            ),
            "purpose": _drawn(random, PURPOSES, rows, _purposes()),
            "addr_state": _drawn(random, STATES, rows, None),
            "int_rate": rate.round(2),
        }
    )  # fmt: skip


def _drawn(
    random: np.random.Generator,
    categories: Sequence[str],
    rows: int,
    p: Sequence[float] | FloatArray | None,
) -> pl.Series:
    return pl.Series(categories).gather(random.choice(len(categories), rows, p=p))


def _weights(count: int, last: float) -> FloatArray:
    weights = np.ones(count)
    weights[-1] = last
    return weights / weights.sum()


def _purposes() -> FloatArray:
    weights = np.full(len(PURPOSES), 0.02)
    for purpose, weight in (("debt_consolidation", 0.5), ("credit_card", 0.15), ("other", 0.1)):
        weights[PURPOSES.index(purpose)] = weight
    return weights / weights.sum()
