"""Values of a column as numbers, bounds and categories: what all kinds of columns need."""

from collections import Counter

import numpy as np
import polars as pl

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.limits import check_magnitude, check_size
from treaty.records.counts import Counts

Bounds = tuple[float, float]


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
        raise ValueError(f"the category {', '.join(twice)} is listed twice")
    return categories


def as_number(text: str) -> float:
    """Return the number a label stands for, NaN if it is none."""
    try:
        return float({"true": "1", "false": "0"}.get(text.lower(), text))
    except ValueError:
        return float("nan")


def as_numbers(column: str, values: pl.Series, counts: Counts) -> FloatArray:
    """Return a column as floats, NaN where missing, or say which row holds something else."""
    dtype = values.dtype
    if dtype.is_numeric() or dtype == pl.Boolean or dtype == pl.Null:
        return values.cast(pl.Float64).to_numpy()
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        texts = values.cast(pl.String).str.strip_chars()
        numbers = texts.cast(pl.Float64, strict=False)
        bad = (numbers.is_null() & texts.is_not_null() & (texts != "")).to_numpy()
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise TreatyError(
                f'column "{column}" must hold numbers, but row {counts.rows + row + 1} '
                f"holds {texts[row]!r}"
            )
        return numbers.to_numpy()
    raise TreatyError(f'column "{column}" must hold numbers, but it holds values of type {dtype}')


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
