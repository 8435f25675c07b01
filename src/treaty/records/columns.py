"""How one column of a record becomes numbers, with public bounds and stated rules.

No rule ever drops a record: n_i is public, and a count that depended on a record would leak it.
"""

from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field, field_validator, model_validator

from treaty.arrays import FloatArray
from treaty.plain import Plain
from treaty.records.counts import Counts
from treaty.records.dates import Date
from treaty.records.hats import Hats
from treaty.records.values import (
    Bounds,
    Texts,
    Words,
    as_numbers,
    clamp,
    distinct,
    lower,
    ordered,
    positions,
)


class Number(Plain):
    """A number with public bounds. Outside values are clamped, missing ones replaced; both counted.

    Args:
        bounds: the public bounds.
        log1p: whether log(1 + value) is taken, after clamping.
        missing: what stands for a missing value; the middle of the bounds if not given.
        texts: what a text that is no number is: "refused", or "missing".
        words: texts that stand for numbers, such as {no = 0, yes = 1}.
    """

    kind: Literal["number"] = "number"
    bounds: Bounds
    log1p: bool = False
    missing: float | None = None
    texts: Texts = "refused"
    words: Words | None = None
    numeric: ClassVar[tuple[bool, ...]] = (True,)
    """Of each encoded column, whether it is a number rather than mostly 0."""

    _bounds_ordered = field_validator("bounds")(ordered)
    _words_once = field_validator("words")(lower)

    @model_validator(mode="after")
    def _log_is_defined(self) -> "Number":
        if self.log1p and self.bounds[0] <= -1:
            raise ValueError(f"log1p needs a lower bound above -1, not {self.bounds[0]:g}")
        return self

    @property
    def width(self) -> int:
        """How many encoded columns it makes."""
        return 1

    def names(self, column: str) -> list[str]:
        """Return the names of the encoded columns."""
        return [column]

    def options(self) -> FloatArray:
        """Return the extreme points of what it encodes to, shape (points, width)."""
        ends = np.array(self.bounds)
        return (np.log1p(ends) if self.log1p else ends)[:, None]

    def numbers(self, column: str, values: pl.Series, counts: Counts) -> FloatArray:
        """Return a column's numbers as they are, NaN where missing."""
        return as_numbers(column, values, counts, self.texts, words=self.words)

    def encode(self, column: str, values: pl.Series, out: FloatArray, counts: Counts) -> None:
        """Write the encoded column into `out`, shape (rows, 1)."""
        numbers = self.numbers(column, values, counts)
        out[:, 0] = clamp(column, numbers, self.bounds, self.missing, counts)
        if self.log1p:
            # Rounded differently from row to row, a logarithm may end a little outside its bounds.
            np.clip(np.log1p(out), *self.options()[:, 0], out=out)


class OneHot(Plain):
    """A category as one column each, 0 or 1. Unknown and missing values are all 0, and counted.

    Args:
        categories: the public list.
    """

    kind: Literal["one-hot"]
    categories: Annotated[tuple[str, ...], Field(min_length=1, max_length=2000)]

    _categories_distinct = field_validator("categories")(distinct)

    @property
    def width(self) -> int:
        """How many encoded columns it makes."""
        return len(self.categories)

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Of each encoded column, whether it is a number rather than mostly 0."""
        return (False,) * self.width

    def names(self, column: str) -> list[str]:
        """Return the names of the encoded columns."""
        return [f"{column}={category}" for category in self.categories]

    def options(self) -> FloatArray:
        """Return the extreme points of what it encodes to, shape (points, width)."""
        return np.vstack([np.zeros(self.width), np.eye(self.width)])

    def encode(self, column: str, values: pl.Series, out: FloatArray, counts: Counts) -> None:
        """Write the encoded columns into `out`, shape (rows, width)."""
        position = positions(column, values, self.categories, counts)
        out[:] = 0.0
        known = np.flatnonzero(position >= 0)
        out[known, position[known]] = 1.0


class Ordinal(Plain):
    """A category as its place in a public order, from −1 to 1. Unknown and missing: 0, counted.

    Args:
        categories: the public order.
    """

    kind: Literal["ordinal"]
    categories: Annotated[tuple[str, ...], Field(min_length=2)]
    numeric: ClassVar[tuple[bool, ...]] = (True,)

    _categories_distinct = field_validator("categories")(distinct)

    @property
    def width(self) -> int:
        """How many encoded columns it makes."""
        return 1

    def names(self, column: str) -> list[str]:
        """Return the names of the encoded columns."""
        return [column]

    def options(self) -> FloatArray:
        """Return the extreme points of what it encodes to, shape (points, width)."""
        return np.array([[-1.0], [1.0]])

    def encode(self, column: str, values: pl.Series, out: FloatArray, counts: Counts) -> None:
        """Write the encoded column into `out`, shape (rows, 1)."""
        position = positions(column, values, self.categories, counts)
        place = 2.0 * position / (len(self.categories) - 1) - 1.0
        out[:, 0] = np.where(position >= 0, place, 0.0)


Feature = Annotated[Number | Hats | OneHot | Ordinal | Date, Field(discriminator="kind")]
