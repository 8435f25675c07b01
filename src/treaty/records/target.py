"""The column to predict."""

from typing import Annotated

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.plain import Plain
from treaty.records.counts import Counts
from treaty.records.values import Bounds, as_number, as_numbers, clamp, ordered


class Target(Plain):
    """The column to predict: a number with public bounds, or one of two labels.

    Args:
        column: its name.
        bounds: for a number: its public bounds. Outside values are clamped, and counted.
        missing: what stands for a missing number; the middle of the bounds if not given.
        rescale: for a number: whether the bounds are mapped to [−1, 1] for training (predictions
            come back in the user's own units).
        labels: for a label: the two values, the negative one first; −1 and +1 if not given.
        unit: for people: what a number is counted in, such as "minutes".
        label: for people: what the target is, such as "late arrival".
    """

    column: str
    bounds: Bounds | None = None
    missing: float | None = None
    rescale: bool = True
    labels: tuple[str, str] | None = None
    unit: Annotated[str, Field(max_length=60)] = ""
    label: Annotated[str, Field(max_length=60)] = ""

    @model_validator(mode="after")
    def _number_or_label(self) -> "Target":
        if self.bounds is not None:
            ordered(self.bounds)
            if self.labels is not None:
                raise ValueError("give bounds for a number or labels for a label, not both")
        if self.labels is not None:
            first, second = self.labels
            if first == second or as_number(first) == as_number(second):
                raise ValueError(f"the two labels are the same: {first} and {second}")
        return self

    @property
    def interval(self) -> Bounds:
        """The public interval of the encoded target."""
        if self.bounds is None or self.rescale:
            return (-1.0, 1.0)
        return self.bounds

    @property
    def scaling(self) -> tuple[float, float]:
        """(centre, scale) with which an encoded target goes back to the user's units."""
        if self.bounds is None or not self.rescale:
            return (0.0, 1.0)
        low, high = self.bounds
        return (0.5 * (low + high), 0.5 * (high - low))

    def encode(self, values: pl.Series, counts: Counts) -> FloatArray:
        """Return the encoded target, shape (rows,)."""
        if self.bounds is None:
            return self._encode_label(values, counts)
        numbers = as_numbers(self.column, values, counts)
        clamped = clamp(self.column, numbers, self.bounds, self.missing, counts)
        centre, scale = self.scaling
        return np.clip((clamped - centre) / scale, *self.interval)

    def _encode_label(self, values: pl.Series, counts: Counts) -> FloatArray:
        negative, positive = self.labels or ("-1", "1")
        if values.dtype.is_numeric() or values.dtype == pl.Boolean:
            numbers = values.cast(pl.Float64).to_numpy()
            no, yes = (numbers == as_number(label) for label in (negative, positive))
        else:
            texts = values.cast(pl.String)
            no = (texts == negative).fill_null(False).to_numpy()
            yes = (texts == positive).fill_null(False).to_numpy()
        strange = np.flatnonzero(~(no | yes))
        if len(strange):
            found = values[int(strange[0])]
            raise TreatyError(
                f'column "{self.column}" must hold the labels {negative} and {positive}, '
                f"but row {counts.rows + int(strange[0]) + 1} holds {found!r}"
            )
        return np.where(yes, 1.0, -1.0)
