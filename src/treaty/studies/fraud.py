"""Card transactions (Université Libre de Bruxelles): fraud or not, from published components."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from treaty.errors import TreatyError
from treaty.records import DictionaryTerms, Feature, Number, Target
from treaty.studies.published import numbers, read_columns
from treaty.studies.study import RowsKind, Study

FULL_ROWS = 284_807
FRAUDS = 0.00172
"""The share of frauds in the full file."""
GENUINE_ALONG = 0.18
"""How much genuine rows vary along the direction in which frauds lie; elsewhere it is 1."""
PUBLIC_ROWS = 10_000
COMPONENTS = tuple(f"V{i}" for i in range(1, 29))
TARGET = Target(column="Class", labels=("0", "1"))


def features() -> dict[str, Feature]:
    """Return the columns: 28 components and the amount."""
    made: dict[str, Feature] = {name: Number(bounds=(-30, 30)) for name in COMPONENTS}
    made["Amount"] = Number(bounds=(0, 30_000), log1p=True)
    return made


def study(frame: pl.DataFrame, kind: RowsKind) -> Study:
    """Return the study of card transactions."""
    terms = DictionaryTerms(standardise="public", radius_quantile=0.5, norm="l1")
    public = min(PUBLIC_ROWS, len(frame) // 4)
    return Study("fraud", features(), TARGET, terms, frame, public, kind)


def read(path: str | Path) -> pl.DataFrame:
    """Read `creditcard.csv` as published (classes in quotes), or Parquet rows with its columns."""
    columns = [*COMPONENTS, "Amount", "Class"]

    def choose(names: Sequence[str]) -> dict[str, str]:
        missing = [column for column in columns if column not in names]
        if missing:
            raise TreatyError(f'there is no column "{missing[0]}": not the card transactions')
        return {column: column for column in columns}

    frame = read_columns(path, choose).with_columns(numbers(*columns))
    return frame.filter(pl.col("Class").is_not_null()).with_columns(pl.col("Class").cast(pl.Int8))


def generate(rows: int = FULL_ROWS, seed: int = 0) -> pl.DataFrame:
    """Make transactions: components that shrink as principal ones do, frauds far out in a few of them.

    In the real file the components' standard deviations fall from 1.96 to 0.33, frauds are shifted by up
    to 7 (V3, V14, V17), some much more than others, and along the direction of that shift genuine rows
    hardly vary; so here. Frauds are 0.172% of the rows, and a linear model explains about half of the
    variance of what is one, of the columns (0.48 of the real rows at that rate) and of the features
    (0.50).
    """
    random = np.random.default_rng(seed)
    spread = np.geomspace(1.96, 0.33, len(COMPONENTS))
    fraud = random.random(rows) < FRAUDS
    shift = np.zeros(len(COMPONENTS))
    for name, moved in (
        ("V1", -4.8), ("V2", 3.6), ("V3", -7.0), ("V4", 4.5), ("V5", -3.2), ("V7", -5.6),
        ("V9", -2.6), ("V10", -5.7), ("V11", 3.8), ("V12", -6.3), ("V14", -7.0), ("V16", -4.1),
        ("V17", -6.7), ("V18", -2.2),
    ):  # fmt: skip
        shift[COMPONENTS.index(name)] = moved
    values = random.standard_t(5, (rows, len(COMPONENTS))) * np.sqrt(0.6)
    along = shift / spread / np.linalg.norm(shift / spread)
    values -= (1 - GENUINE_ALONG) * (values @ along)[:, None] * along
    strength = np.where(fraud, random.gamma(1.0, 1.0, rows), 0.0)
    values = spread * values + strength[:, None] * shift
    amount = np.exp(random.normal(3.1, 1.6, rows)).clip(0, 25_000).round(2)
    made = {name: values[:, i].clip(-30, 30) for i, name in enumerate(COMPONENTS)}
    return pl.DataFrame({**made, "Amount": amount, "Class": fraud.astype(np.int8)})
