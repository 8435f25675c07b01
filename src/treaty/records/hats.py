"""A number as hat functions: its weights on the public knots around it."""

from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
import polars as pl
from pydantic import Field, field_validator, model_validator

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.plain import Plain
from treaty.records.counts import Counts
from treaty.records.values import Bounds, Texts, Words, as_numbers, clamp, lower, ordered

TAIL = 0.025
"""A share of the numbers that lies below the first knot, and above the last, where a line goes on."""


class Hats(Plain):
    """A number as its weights on the public knots around it: a model of it bends at every knot.

    A value between two knots is a weight on each of them, and nothing on the others (B-splines of
    degree 1); beyond the outermost knots it counts as these. Weights are never below 0 and sum to 1,
    whatever the number of knots. A missing value is all 0, and counted, unless `missing` stands for it.
    With `straight` there is one more column, the number itself, from −1 to 1 between the bounds: beyond
    the outermost knots a model goes on in a straight line.

    Args:
        bounds: the public bounds. Outside values are clamped, and counted.
        knots: the knots, in increasing order inside the bounds.
        quantiles: instead of knots: how many, at evenly spaced quantiles of the public rows. Fitting
            the treaty's dictionary replaces it by knots.
        missing: what stands for a missing value.
        straight: whether the number itself is a column as well.
        texts: what a text that is no number is: "refused", or "missing".
        words: texts that stand for numbers, such as {no = 0, yes = 1}.
    """

    kind: Literal["hats"]
    bounds: Bounds
    knots: Annotated[tuple[float, ...], Field(min_length=2, max_length=200)] | None = None
    quantiles: Annotated[int, Field(strict=True, ge=2, le=200)] | None = None
    missing: float | None = None
    straight: bool = False
    texts: Texts = "refused"
    words: Words | None = None

    _words_once = field_validator("words")(lower)
    _bounds_ordered = field_validator("bounds")(ordered)

    @model_validator(mode="after")
    def _knots_in_order(self) -> "Hats":
        if (self.knots is None) == (self.quantiles is None):
            raise ValueError("give knots, or quantiles, the number of knots that public rows place")
        knots, (low, high) = self.knots or (), self.bounds
        if any(not low <= knot <= high for knot in knots):
            raise ValueError(f"every knot must lie inside the bounds {low:g} and {high:g}")
        if any(b - a < 1e-9 * (high - low) for a, b in pairwise(knots)):
            raise ValueError("knots must be written in increasing order, each once")
        return self

    @property
    def width(self) -> int:
        """How many encoded columns it makes."""
        return self._hats + self.straight

    @property
    def _hats(self) -> int:
        return len(self.knots) if self.knots is not None else self.quantiles or 0

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Of each encoded column, whether it is a number rather than mostly 0."""
        return (False,) * self._hats + (True,) * self.straight

    def names(self, column: str) -> list[str]:
        """Return the names of the encoded columns."""
        places = range(1, self._hats + 1) if self.knots is None else self.knots
        return [f"{column}~{place:.6g}" for place in places] + [column] * self.straight

    def options(self) -> FloatArray:
        """Return the extreme points of what it encodes to, shape (points, width).

        Between two knots all columns are straight lines, and beyond the outermost ones only the number
        itself moves: so these are the knots and both bounds.
        """
        none, hats = np.zeros((1, self._hats)), np.eye(self._hats)
        if not self.straight:
            return np.vstack([none, hats])
        knots = (
            np.linspace(*self.bounds, self._hats) if self.knots is None else np.array(self.knots)
        )
        ends = np.vstack([none, hats, hats[:1], hats[-1:]])
        missing = 0.5 * sum(self.bounds) if self.missing is None else self.missing
        numbers = np.array([missing, *knots, *self.bounds])
        return np.column_stack([ends, self._line(numbers)])

    def _line(self, numbers: FloatArray) -> FloatArray:
        low, high = self.bounds
        return (np.clip(numbers, low, high) - 0.5 * (low + high)) / (0.5 * (high - low))

    def numbers(self, column: str, values: pl.Series, counts: Counts) -> FloatArray:
        """Return a column's numbers as they are, NaN where missing."""
        return as_numbers(column, values, counts, self.texts, words=self.words)

    def encode(self, column: str, values: pl.Series, out: FloatArray, counts: Counts) -> None:
        """Write the encoded columns into `out`, shape (rows, width)."""
        if self.knots is None:
            raise TreatyError(
                f'the knots of column "{column}" have not been placed yet: treaty fit does that, on '
                "public rows"
            )
        numbers = self.numbers(column, values, counts)
        absent = np.isnan(numbers)
        knots = np.array(self.knots)
        bounded = clamp(column, numbers, self.bounds, self.missing, counts)
        inside = np.clip(bounded, knots[0], knots[-1])
        left = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(knots) - 2)
        right = (inside - knots[left]) / (knots[left + 1] - knots[left])
        out[:] = 0.0
        known = np.flatnonzero(~absent) if self.missing is None else np.arange(len(inside))
        out[known, left[known]] = 1.0 - right[known]
        out[known, left[known] + 1] = right[known]
        if self.straight:
            out[:, -1] = self._line(bounded)

    def placed(self, numbers: FloatArray) -> "Hats":
        """Return it with its knots at evenly spaced quantiles of public numbers.

        With a straight column the outermost knots leave 2.5% of the numbers outside on either side,
        where the model is a straight line: a knot at the very last number would be that record's own.
        Where there are no more different numbers than knots, there is a knot at each of them. Where
        quantiles coincide, the widest gaps between knots are halved instead: there are as many knots as
        the treaty says.
        """
        if self.quantiles is None:
            return self
        low, high = self.bounds
        known = np.clip(numbers[~np.isnan(numbers)], low, high)
        if not len(known):
            known = np.array(self.bounds)
        found, tail = np.unique(known), TAIL if self.straight else 0.0
        if len(found) > self.quantiles:
            found = np.unique(np.quantile(known, np.linspace(tail, 1 - tail, self.quantiles)))
        apart = np.append(True, np.diff(found) > 1e-6 * (high - low))
        knots = found[apart]
        while len(knots) < self.quantiles:
            ends = knots if self.straight and len(knots) > 1 else np.unique([low, *knots, high])
            widest = int(np.diff(ends).argmax())
            knots = np.sort(np.append(knots, 0.5 * (ends[widest] + ends[widest + 1])))
        return self.model_copy(update={"knots": tuple(knots.tolist()), "quantiles": None})
