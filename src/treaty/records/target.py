"""The column to predict."""

from typing import Annotated

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.plain import Plain
from treaty.records.cells import is_text, mapped, written
from treaty.records.counts import Counts
from treaty.records.values import Bounds, as_numbers, as_truth, clamp, ordered


class Target(Plain):
    """The column to predict: a number with public bounds, or one of two labels.

    Args:
        column: its name.
        bounds: for a number: its public bounds. Outside values are clamped, and counted.
        missing: what stands for a missing number; if not given, a record without one is refused.
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
            if first == second or as_truth(first) == as_truth(second):
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
        clamped = clamp(
            self.column, self.numbers(values, counts), self.bounds, self.missing, counts
        )
        centre, scale = self.scaling
        return np.clip((clamped - centre) / scale, *self.interval)

    def numbers(self, values: pl.Series, counts: Counts) -> FloatArray:
        """Return the numbers as they are; NaN where missing, if something stands for that."""
        remedy = "correct it, or leave that record out"
        numbers = as_numbers(self.column, values, counts, remedy=remedy)
        absent = np.flatnonzero(np.isnan(numbers))
        if len(absent) and self.missing is None:
            raise TreatyError(
                f'column "{self.column}" is what is predicted, and row {counts.rows + absent[0] + 1:,} '
                "has no number there: leave such records out (and declare as many fewer), or say under "
                "[target] what stands in for it, with missing = ..."
            )
        return numbers

    def _encode_label(self, values: pl.Series, counts: Counts) -> FloatArray:
        negative, positive = self.labels or ("-1", "1")
        cells = values.cast(pl.String) if is_text(values.dtype) else values
        known = {cell: self._side(str(written(cell))) for cell in cells.drop_nulls().unique()}
        sides = mapped(cells, {c: side for c, side in known.items() if side is not None}).to_numpy()
        no, yes = sides == -1.0, sides == 1.0
        strange = np.flatnonzero(~(no | yes))
        if len(strange):
            found = values[int(strange[0])]
            shown = "nothing" if found is None else repr(found)
            raise TreatyError(
                f'column "{self.column}" must hold the labels {negative} and {positive}, '
                f"but row {counts.rows + int(strange[0]) + 1:,} holds {shown}: correct it, leave such "
                "records out, or write the labels under [target] as the file has them"
            )
        return np.where(yes, 1.0, -1.0)

    def _side(self, text: str) -> float | None:
        """Return −1 or +1 for a text that is a label, or means the same: 1, 1.0, true, yes."""
        for side, label in zip((-1.0, 1.0), self.labels or ("-1", "1"), strict=True):
            if text.strip() == label or as_truth(text) == as_truth(label):
                return side
        return None
