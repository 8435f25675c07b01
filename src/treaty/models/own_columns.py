"""Columns of an owner's own, on top of those that a treaty names: read inside its walls alone."""

import math

import numpy as np
import polars as pl
from pydantic import model_validator
from scipy import sparse

from treaty.arrays import IntArray
from treaty.errors import TreatyError
from treaty.matrices import Matrix, stacked
from treaty.plain import Plain
from treaty.records import (
    Counts,
    Dictionary,
    DictionaryTerms,
    Feature,
    Hats,
    Number,
    OneHot,
)
from treaty.records.encoder import encode
from treaty.records.fitting import encoded_columns, fit_dictionary
from treaty.records.sources import BLOCK
from treaty.records.values import as_numbers

KNOTS = 6
"""At so many quantiles of the own records a number may bend."""
OFTEN, MOST_CATEGORIES = 5, 200
"""A category that fewer own records have counts as none, and so do all beyond the most frequent ones."""
TERMS = DictionaryTerms(standardise="frequency", intercept=0.0)
EMPTY = Dictionary(columns=(), centre=(), scale=(), intercept=0.0)


class OwnColumns(Plain):
    """How columns of an owner's own become numbers.

    Args:
        features: the columns.
        dictionary: how they become x, without a constant.
    """

    features: dict[str, Feature]
    dictionary: Dictionary

    @model_validator(mode="after")
    def _fits_together(self) -> "OwnColumns":
        if encoded_columns(self.features) != self.dictionary.columns:
            raise ValueError("the dictionary of its own columns is for other columns")
        return self

    def x(self, frame: pl.DataFrame) -> Matrix:
        """Return the numbers of rows, sparse."""
        parts: list[Matrix] = []
        for block in frame.iter_slices(BLOCK):
            numbers, _ = self.dictionary.apply(encode(self.features, block, Counts()))
            parts.append(sparse.csr_array(numbers))
        return stacked(parts)


class ColumnReader:
    """Reads columns of an owner's own records: what is in them is told by records that may be seen.

    A number becomes hats at quantiles (a straight line if there are two values), anything else one
    column for each value that at least 5 records have. Whether a column holds numbers is taken from all
    records.

    Args:
        frame: the columns, of all records.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def fit(self, seen: IntArray) -> OwnColumns:
        """Return how the columns become numbers, as records that may be seen tell."""
        rows = self._frame[seen]
        made = {name: _feature(self._frame[name], rows[name]) for name in self._frame.columns}
        features = {name: feature for name, feature in made.items() if feature is not None}
        if not features:
            return OwnColumns(
                features={}, dictionary=Dictionary(columns=(), centre=(), scale=(), intercept=0.0)
            )
        fitted = fit_dictionary(TERMS, features, encode(features, rows, Counts()))
        # A digest that is not keyed lets whoever reads it try values out.
        fitted = fitted.model_copy(update={"fitted_on": ""})
        return OwnColumns(features=features, dictionary=fitted)

    def __call__(self, seen: IntArray) -> Matrix:
        """Return the numbers of all records, as those that may be seen tell how to read them."""
        return self.fit(seen).x(self._frame)


def _feature(whole: pl.Series, seen: pl.Series) -> Feature | None:
    """Return how a column becomes numbers; nothing if it says nothing."""
    if whole.dtype.is_nested():
        raise TreatyError(f'column "{whole.name}" holds lists, which cannot become numbers')
    try:
        as_numbers(whole.name, whole, Counts())
    except TreatyError:  # no numbers, so categories
        counted = seen.cast(pl.String).drop_nulls().value_counts(sort=True, name="count")
        often = counted.filter(pl.col("count") >= OFTEN).head(MOST_CATEGORIES)
        names = tuple(sorted(str(name) for name in often[whole.name]))
        return OneHot(kind="one-hot", categories=names) if names else None
    numbers = as_numbers(seen.name, seen, Counts())
    different = np.unique(numbers[np.isfinite(numbers)])
    if len(different) < 2:
        return None
    bounds = _rounded(different[0], different[-1])
    if len(different) == 2:
        return Number(bounds=bounds)
    hats = Hats(kind="hats", bounds=bounds, quantiles=min(KNOTS, len(different)))
    return _with_round_knots(hats.placed(numbers))


def _rounded(low: float, high: float) -> tuple[float, float]:
    """Return bounds around two values, rounded outward: neither says what a record holds."""
    unit = 10.0 ** (math.floor(math.log10(high - low)) - 1)
    return (
        float(f"{(math.floor(low / unit) - 1) * unit:.12g}"),
        float(f"{(math.ceil(high / unit) + 1) * unit:.12g}"),
    )


def _with_round_knots(hats: Hats) -> Hats:
    """Return hats with their knots moved to round numbers, a hundredth of the range apart."""
    assert hats.knots is not None
    low, high = hats.bounds
    unit = 10.0 ** (math.floor(math.log10(high - low)) - 2)
    knots = sorted({float(f"{round(knot / unit) * unit:.12g}") for knot in hats.knots})
    inside = tuple(min(max(knot, low), high) for knot in knots)
    return hats.model_copy(update={"knots": inside}) if len(set(inside)) > 1 else hats
