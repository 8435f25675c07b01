"""Values of a column as numbers, bounds and categories: what all kinds of columns need."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Literal

import numpy as np
import polars as pl

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.limits import check_magnitude, check_size
from treaty.records.cells import TRUTHS, is_text, mapped, places, truth
from treaty.records.counts import Counts

Bounds = tuple[float, float]
Texts = Literal["refused", "missing"]
"""What a text in a column of numbers is."""
Words = dict[str, float]
"""Texts that stand for numbers in a column, such as {no = 0, yes = 1}; in any case of letters."""
YES_OR_NO = {
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


def lower(words: Words | None) -> Words | None:
    """Return words that stand for numbers, or say what is wrong with them."""
    twice = sorted(w for w, n in Counter(word.lower() for word in words or ()).items() if n > 1)
    if twice:
        raise ValueError(f"the word {', '.join(twice)} is listed twice: write it once")
    for word, number in (words or {}).items():
        check_magnitude(f"what {word} stands for", number)
    return words


def distinct(categories: tuple[str, ...]) -> tuple[str, ...]:
    """Return categories, or say which is listed twice."""
    twice = sorted(c for c, count in Counter(categories).items() if count > 1)
    if twice:
        raise ValueError(f"the category {', '.join(twice)} is listed twice: write it once")
    return categories


def as_number(text: str) -> float:
    """Return the number a label stands for, NaN if it is none."""
    return truth(text)


def as_truth(text: str) -> float:
    """Return 1 for a word that says yes, 0 for one that says no, the number of a number, else NaN."""
    return YES_OR_NO.get(text.strip().lower(), as_number(text))


def as_numbers(
    column: str,
    values: pl.Series,
    counts: Counts,
    texts: Texts = "refused",
    remedy: str = 'correct it, or write texts = "missing" for that column in the treaty',
    words: Mapping[str, float] | None = None,
) -> FloatArray:
    """Return a column as floats, NaN where missing, or say which row holds something else.

    Args:
        column: its name.
        values: what it holds.
        counts: of the rows before these.
        texts: "missing" if a text that is no number counts as missing.
        remedy: what to do about one that is refused.
        words: texts that stand for numbers; true is 1 and false is 0 in any case.
    """
    dtype = values.dtype
    if dtype.is_numeric() or dtype == pl.Boolean or dtype == pl.Null:
        return values.cast(pl.Float64).to_numpy()
    if is_text(dtype):
        cells = values.cast(pl.String).str.strip_chars()
        numbers = cells.cast(pl.Float64, strict=False)
        stray = numbers.is_null() & cells.is_not_null() & (cells != "")
        if stray.any():
            known = TRUTHS | {word.lower(): number for word, number in (words or {}).items()}
            meant = mapped(cells.str.to_lowercase(), known)
            numbers = pl.select(pl.coalesce(numbers, meant)).to_series()
            stray = stray & meant.is_null()
        if stray.any() and texts == "refused":
            row = int(stray.arg_true()[0])
            raise TreatyError(
                f'column "{column}" must hold numbers, but row {counts.rows + row + 1:,} holds '
                f"{cells[row]!r}: {_remedy(cells[row], remedy)}"
            )
        return numbers.to_numpy()
    remedy = ': write kind = "date"' if dtype.is_temporal() else ""
    raise TreatyError(
        f'column "{column}" must hold numbers, but it holds values of type {dtype}{remedy}'
    )


def _remedy(cell: str, remedy: str) -> str:
    """Say what to do about a cell that is no number as it stands."""
    if cell.lower() in YES_OR_NO:
        return (
            "if it means yes or no, write words = { no = 0, yes = 1 } for that column in the treaty"
        )
    if re.fullmatch(r"[+-]?[\d.,' \u00a0\u202f\u2019]*[.,' \u00a0\u202f\u2019]\d+", cell):
        return (
            "if that is a number, state how numbers are written there: under [dialect] in the treaty, "
            f"or in a source file of your own (treaty dialect FILE writes one); or {remedy}"
        )
    return remedy


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
    if values.dtype.is_nested() or isinstance(values.dtype, pl.Binary | pl.Object):
        raise TreatyError(
            f'column "{column}" holds values of type {values.dtype}, which cannot be encoded'
        )
    cells = values.cast(pl.String) if is_text(values.dtype) else values
    if cells.dtype.is_float():
        cells = cells.fill_nan(None)
    absent = cells.is_null()
    place = mapped(cells, places(cells.alias(column), categories)).fill_null(-1).cast(pl.Int64)
    counts.missing[column] += int(absent.sum())
    counts.unknown[column] += int(((place < 0) & ~absent).sum())
    return place.to_numpy()
