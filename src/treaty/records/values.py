"""Values of a column as numbers, bounds and categories: what all kinds of columns need."""

from collections import Counter
from typing import Literal

import numpy as np
import polars as pl

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.limits import check_magnitude, check_size
from treaty.records.counts import Counts

Bounds = tuple[float, float]
Texts = Literal["refused", "missing"]
"""What a text in a column of numbers is."""
TRUTHS = {
    **dict.fromkeys(("true", "yes", "t", "y"), 1.0),
    **dict.fromkeys(("false", "no", "f", "n"), 0.0),
}
"""The usual words for yes and no, in lower case."""


def ordered(bounds: Bounds) -> Bounds:
    """Return public bounds, or say why they are none."""
    low, high = bounds
    for end in bounds:
        check_magnitude("a bound", end)
    if not low < high:
        raise ValueError(f"the lower bound {low:g} must be below the upper bound {high:g}")
    if high - low < 1e-9 * max(abs(low), abs(high)):
        raise ValueError(f"the bounds {low!r} and {high!r} are too close to tell values apart")
    check_size("the distance between the bounds", high - low)
    return bounds


def distinct(categories: tuple[str, ...]) -> tuple[str, ...]:
    """Return categories, or say which is listed twice."""
    twice = sorted(c for c, count in Counter(categories).items() if count > 1)
    if twice:
        raise ValueError(f"the category {', '.join(twice)} is listed twice: write it once")
    return categories


def as_number(text: str) -> float:
    """Return the number a label stands for, NaN if it is none."""
    try:
        return float({"true": "1", "false": "0"}.get(text.lower(), text))
    except ValueError:
        return float("nan")


def as_truth(text: str) -> float:
    """Return 1 for a word that says yes, 0 for one that says no, the number of a number, else NaN."""
    return TRUTHS.get(text.strip().lower(), as_number(text))


def as_numbers(
    column: str,
    values: pl.Series,
    counts: Counts,
    texts: Texts = "refused",
    remedy: str = 'correct it, or write texts = "missing" for that column in the treaty',
) -> FloatArray:
    """Return a column as floats, NaN where missing, or say which row holds something else.

    A column of nothing but yes and no, in one of the usual words, is one of 1 and 0.

    Args:
        column: its name.
        values: what it holds.
        counts: of the rows before these.
        texts: "missing" if a text that is no number counts as missing.
        remedy: what to do about one that is refused.
    """
    dtype = values.dtype
    if dtype.is_numeric() or dtype == pl.Boolean or dtype == pl.Null:
        return values.cast(pl.Float64).to_numpy()
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        written = values.cast(pl.String).str.strip_chars()
        numbers = written.cast(pl.Float64, strict=False)
        stray = (numbers.is_null() & written.is_not_null() & (written != "")).to_numpy()
        if stray.any():
            numbers, stray = _with_truths(written, numbers, stray)
        if stray.any() and texts == "refused":
            row = int(np.flatnonzero(stray)[0])
            raise TreatyError(
                f'column "{column}" must hold numbers, but row {counts.rows + row + 1:,} holds '
                f"{written[row]!r}: {remedy}"
            )
        return numbers.to_numpy()
    remedy = ': write kind = "date"' if dtype.is_temporal() else ""
    raise TreatyError(
        f'column "{column}" must hold numbers, but it holds values of type {dtype}{remedy}'
    )


def _with_truths(
    written: pl.Series, numbers: pl.Series, stray: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> tuple[pl.Series, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Read words for yes and no as 1 and 0, where there is nothing else in the column."""
    words = written.str.to_lowercase().replace_strict(
        list(TRUTHS), list(TRUTHS.values()), default=None, return_dtype=pl.Float64
    )
    others = numbers.drop_nulls()
    if not others.is_in([0.0, 1.0]).all():
        return numbers, stray
    return pl.select(pl.coalesce(numbers, words)).to_series(), stray & words.is_null().to_numpy()


def clamp(
    column: str, numbers: FloatArray, bounds: Bounds, missing: float | None, counts: Counts
) -> FloatArray:
    """Return the numbers inside the bounds, counting what had to be moved or filled in."""
    low, high = bounds
    if len(numbers) and numbers.min() >= low and numbers.max() <= high:  # false if any is NaN
        return numbers
    absent = np.isnan(numbers)
    inside = np.clip(numbers, low, high)
    counts.clamped[column] += int(np.count_nonzero((inside != numbers) & ~absent))
    counts.missing[column] += int(np.count_nonzero(absent))
    substitute = 0.5 * (low + high) if missing is None else min(max(missing, low), high)
    inside[absent] = substitute
    return inside


def positions(
    column: str, values: pl.Series, categories: tuple[str, ...], counts: Counts
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return each value's place in the list of categories, −1 where it is unknown or missing."""
    texts = values.cast(pl.String)
    place = texts.replace_strict(
        pl.Series(categories), pl.Series(range(len(categories))), default=-1, return_dtype=pl.Int64
    )
    absent = texts.is_null()
    counts.missing[column] += int(absent.sum())
    place = place.fill_null(-1)
    counts.unknown[column] += int(((place < 0) & ~absent).sum())
    return place.to_numpy()
