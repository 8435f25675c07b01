"""What one cell says, whatever else stands in its column.

The type that a column has, in a file or a data frame, may follow from all of its cells: one missing cell
makes whole numbers fractions, one text makes numbers texts. So 1, 1.0 and the text "1" are one number
and one category everywhere, and what a cell is taken for is a function of that cell alone.
"""

import datetime
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np
import polars as pl

from treaty.errors import TreatyError

TRUTHS = {"true": 1.0, "false": 0.0}
"""How the two truth values are written, in lower case."""
EXACT = 2.0**53
"""Up to here a double holds every whole number."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def written(value: Any) -> str | None:
    """Return a cell as a text; None if it is missing."""
    if isinstance(value, np.generic):
        value = cast(Any, value).item()
    if value is None or value != value:  # not a number, or not a time
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        return str(int(value))
    return str(value)


def column_of(name: str, values: Iterable[Any]) -> pl.Series:
    """Return cells of any kinds as a column of texts."""
    return pl.Series(name, [written(value) for value in values], dtype=pl.String)


def category(value: Any) -> str | None:
    """Return how a cell is written as a category: a number in one way only, and true is 1.

    Example:
        >>> [category(value) for value in (1, 1.0, "1", " 01", "1.50", True, "True", "north", None)]
        ['1', '1', '1', '1', '1.5', '1', '1', 'north', None]
    """
    text = written(value)
    if text is None:
        return None
    text = text.strip()
    if text.lower() in TRUTHS:
        return written(TRUTHS[text.lower()])
    if not _NUMBER.fullmatch(text):
        return text
    return written(float(text))


def places(values: pl.Series, listed: tuple[str, ...]) -> Mapping[Any, int]:
    """Return the place in a list of every different cell of a column that is in it.

    A text is looked for as it is written first, so that a list may tell "01" from "1".
    """
    exact = {name: place for place, name in enumerate(listed)}
    canonical: dict[str | None, list[int]] = {}
    for place, name in enumerate(listed):
        canonical.setdefault(category(name), []).append(place)
    found: dict[Any, int] = {}
    for value in values.drop_nulls().unique().to_list():
        text = value if isinstance(value, str) else None
        if text in exact:
            found[value] = exact[text]
            continue
        alike = canonical.get(category(value), [])
        if len(alike) > 1:
            names = " and ".join(f'"{listed[place]}"' for place in alike)
            raise TreatyError(
                f'column "{values.name}" holds {value!r}, and {names} are the same number: write such '
                "codes as texts"
            )
        if alike:
            found[value] = alike[0]
    return found


def mapped(values: pl.Series, found: Mapping[Any, float]) -> pl.Series:
    """Return what is found for every cell, null where nothing is."""
    if not found:
        return pl.Series(values.name, [None] * len(values), dtype=pl.Float64)
    keys = pl.Series(list(found), dtype=values.dtype)
    return values.replace_strict(
        keys, pl.Series(list(found.values())), default=None, return_dtype=pl.Float64
    )


def name_of(column: str, dtype: pl.DataType) -> pl.Expr:
    """Return whose record each is, from the column that says so: a number is written in one way."""
    cells = pl.col(column)
    if not dtype.is_float():
        return cells.cast(pl.String)
    whole = (cells == cells.floor()) & (cells.abs() < EXACT)
    there = cells.is_not_null() & cells.is_not_nan()
    text = pl.when(whole).then(cells.cast(pl.Int64, strict=False).cast(pl.String))
    return pl.when(there).then(text.otherwise(cells.cast(pl.String)))


def is_text(dtype: pl.DataType) -> bool:
    """Whether a column holds texts."""
    return isinstance(dtype, pl.String | pl.Categorical | pl.Enum)


def truth(text: str) -> float:
    """Return the number of a text that is one, or is true or false; NaN of any other."""
    text = text.strip().lower()
    if text in TRUTHS:
        return TRUTHS[text]
    try:
        return float(text)
    except ValueError:
        return math.nan
