"""A study: the rows of one of the papers' tasks, in order, and how they become (x, y)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.records import Counts, DictionaryTerms, Encoder, Feature, Target
from treaty.records.encoder import encode
from treaty.records.fitting import fit_dictionary

RowsKind = Literal["full", "partial", "generated"]
BLOCK = 65_536
SAID = {
    "full": "the public file",
    "partial": "a part of the real rows",
    "generated": "generated rows, not real ones",
}
"""What every figure says about its rows."""


@dataclass(frozen=True, eq=False)
class Study:
    """The rows of a task. The last ones are public: the dictionary is made of them alone.

    Args:
        name: lending, fraud or hospital.
        features: the columns.
        target: the column to predict.
        terms: how columns become x.
        frame: the rows, in the order of the file.
        public_rows: how many of the last ones are public.
        kind: where the rows come from.
        by: the column that says whose a row is, where the papers say so.
        shuffled: whether the rows are not in the order of the file.
    """

    name: str
    features: dict[str, Feature]
    target: Target
    terms: DictionaryTerms
    frame: pl.DataFrame
    public_rows: int
    kind: RowsKind
    by: str | None = None
    shuffled: bool = False

    def __post_init__(self) -> None:
        if len(self.frame) < 2 * self.public_rows:
            raise TreatyError(
                f"{self.name}: {len(self.frame):,} rows are too few when the last "
                f"{self.public_rows:,} are public"
            )

    @property
    def private(self) -> pl.DataFrame:
        """The owners' rows, in order."""
        return self.frame.head(len(self.frame) - self.public_rows)

    @property
    def public(self) -> pl.DataFrame:
        """The rows nobody owns."""
        return self.frame.tail(self.public_rows)

    @cached_property
    def encoder(self) -> Encoder:
        """How a row becomes (x, y); its dictionary is fitted on the public rows."""
        rows = encode(self.features, self.public, Counts())
        return Encoder(self.features, self.target, fit_dictionary(self.terms, self.features, rows))

    def blocks(self, frame: pl.DataFrame) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Return rows as blocks of (x, y)."""
        for part in frame.iter_slices(BLOCK):
            x = np.ascontiguousarray(self.encoder.x(part))
            yield x, self.target.encode(part[self.target.column], Counts())
