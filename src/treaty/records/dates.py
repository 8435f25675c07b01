"""A date or a time as its year, month, weekday and hour."""

from itertools import product
from typing import Annotated, Literal

import numpy as np
import polars as pl
from pydantic import Field, field_validator, model_validator

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.plain import Plain
from treaty.records.cells import category, column_of, is_text
from treaty.records.counts import Counts
from treaty.records.values import Texts

Part = Literal["year", "month", "weekday", "hour"]
MONTHS = tuple(str(month) for month in range(1, 13))
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HOURS = tuple(str(hour) for hour in range(24))
NAMES: dict[Part, tuple[str, ...]] = {"month": MONTHS, "weekday": WEEKDAYS, "hour": HOURS}
ZONE = r"(T\d{2}:.*?|\s\d{2}:.*?)\s*(Z|[+-]\d{2}(:?\d{2})?)$"
"""A time and the zone after it, as ISO 8601 has it."""
ISO = (
    "%Y-%m-%d",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
)


class Date(Plain):
    """A date or time as parts of it: the year as a number, month, weekday and hour as one column each.

    The year goes from −1 to 1 between the first and the last. A missing date is 0 in every column, and
    counted.

    Args:
        parts: which of year, month, weekday and hour.
        years: the first and the last year, public; others are clamped, and counted.
        format: how texts are written, such as "%d.%m.%Y"; as ISO 8601 has it if not given.
        texts: what a text that is no such date is: "refused", or "missing".
    """

    kind: Literal["date"]
    parts: Annotated[tuple[Part, ...], Field(min_length=1)] = ("year", "month", "weekday")
    years: Annotated[tuple[int, int], Field(strict=False)] | None = None
    format: Annotated[str, Field(max_length=60)] | None = None
    texts: Texts = "refused"

    @field_validator("parts")
    @classmethod
    def _each_once(cls, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        if len(set(parts)) < len(parts):
            raise ValueError("every part of a date is written once")
        return parts

    @model_validator(mode="after")
    def _years_known(self) -> "Date":
        if ("year" in self.parts) != (self.years is not None):
            raise ValueError("years = [first, last] goes with the part year, and with no other")
        if self.years is not None and not 0 <= self.years[0] < self.years[1] <= 9999:
            raise ValueError("the first of the years must lie before the last, both from 0 to 9999")
        return self

    @property
    def width(self) -> int:
        """How many encoded columns it makes."""
        return len(self.numeric)

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Of each encoded column, whether it is a number rather than mostly 0."""
        return tuple(flag for part in self.parts for flag in _numeric(part))

    def names(self, column: str) -> list[str]:
        """Return the names of the encoded columns."""
        return [
            name
            for part in self.parts
            for name in (
                [f"{column} year"]
                if part == "year"
                else [f"{column} {part}={each}" for each in NAMES[part]]
            )
        ]

    def options(self) -> FloatArray:
        """Return the extreme points of what it encodes to, shape (points, width)."""
        each = [
            np.array([[-1.0], [1.0]])
            if part == "year"
            else np.vstack([np.zeros(len(NAMES[part])), np.eye(len(NAMES[part]))])
            for part in self.parts
        ]
        return np.array([np.concatenate(points) for points in product(*each)])

    def encode(self, column: str, values: pl.Series, out: FloatArray, counts: Counts) -> None:
        """Write the encoded columns into `out`, shape (rows, width)."""
        dates = as_dates(column, values, counts, self.format, self.texts)
        absent = dates.is_null().to_numpy()
        counts.missing[column] += int(absent.sum())
        out[:] = 0.0
        known = np.flatnonzero(~absent)
        start = 0
        for part in self.parts:
            if part == "year" and self.years is not None:
                low, high = self.years
                year = dates.dt.year().to_numpy()[known].astype(float)
                inside = np.clip(year, low, high)
                counts.clamped[column] += int(np.count_nonzero(inside != year))
                out[known, start] = (inside - 0.5 * (low + high)) / (0.5 * (high - low))
                start += 1
                continue
            first = 0 if part == "hour" else 1
            place = getattr(dates.dt, part)().to_numpy()[known].astype(np.int64) - first
            out[known, start + place] = 1.0
            start += len(NAMES[part])


def _numeric(part: Part) -> tuple[bool, ...]:
    return (True,) if part == "year" else (False,) * len(NAMES[part])


def as_dates(
    column: str,
    values: pl.Series,
    counts: Counts,
    form: str | None = None,
    texts: Texts = "refused",
) -> pl.Series:
    """Return a column as times, missing where missing, or say which row holds something else.

    Args:
        column: its name.
        values: what it holds.
        counts: of the rows before these.
        form: how texts are written; as ISO 8601 has it if not given.
        texts: "missing" if a text that is no such date counts as missing.
    """
    dtype, how = values.dtype, "correct it, or say with format how dates are written there"
    if dtype == pl.Date or isinstance(dtype, pl.Datetime):
        return values.cast(pl.Datetime) if dtype == pl.Date else values
    if dtype == pl.Null:
        return values.cast(pl.Datetime)
    if not is_text(dtype):
        # Numbers such as 20241231 may be texts in a file in which one cell is none.
        values = column_of(column, map(category, values.to_list()))
        how = 'correct it, or write kind = "number" for it in the treaty'
    written = values.cast(pl.String).str.strip_chars()
    if form is None:
        # The hour is the one on the clock there, wherever that is.
        written = written.str.replace(ZONE, "$1")
    dates = pl.select(pl.coalesce([read_as(written, each) for each in ((form,) if form else ISO)]))
    found = dates.to_series()
    stray = (found.is_null() & written.is_not_null() & (written != "")).to_numpy()
    if stray.any() and texts == "refused":
        row = int(np.flatnonzero(stray)[0])
        shown = f"written as {form}" if form else "written as 2024-12-31"
        raise TreatyError(
            f'column "{column}" must hold dates {shown}, but row {counts.rows + row + 1:,} holds '
            f"{written[row]!r}: {how}"
        )
    return found


def read_as(written: pl.Series, form: str) -> pl.Series:
    """Return texts as times, missing where they are not written like this."""
    try:
        if any(mark in form for mark in ("%H", "%I", "%T", "%R")):
            return written.str.to_datetime(form, strict=False)
        return written.str.to_date(form, strict=False).cast(pl.Datetime)
    except pl.exceptions.PolarsError as error:
        raise TreatyError(
            f'"{form}" is no format of dates: write it as in "%d.%m.%Y" or "%Y-%m-%d %H:%M"'
        ) from error
