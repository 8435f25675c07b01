"""How one column of a record becomes numbers, with public bounds and stated rules.

No rule ever drops a record: n_i is public, and a count that depended on a record would leak it.
"""

from collections import Counter
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field, field_validator, model_validator

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.limits import check_magnitude, check_size
from treaty.plain import Plain
from treaty.records.counts import Counts

Bounds = tuple[float, float]


def _ordered(bounds: Bounds) -> Bounds:
    low, high = bounds
    for end in bounds:
        check_magnitude("a bound", end)
    if not low < high:
        raise ValueError(f"the lower bound {low:g} must be below the upper bound {high:g}")
    if high - low < 1e-9 * max(abs(low), abs(high)):
        raise ValueError(f"the bounds {low!r} and {high!r} are too close to tell values apart")
    check_size("the distance between the bounds", high - low)
    return bounds


def _distinct(categories: tuple[str, ...]) -> tuple[str, ...]:
    twice = sorted(c for c, count in Counter(categories).items() if count > 1)
    if twice:
        raise ValueError(f"the category {', '.join(twice)} is listed twice")
    return categories


class Number(Plain):
    """A number with public bounds. Outside values are clamped, missing ones replaced; both counted.

    Args:
        bounds: the public bounds.
        log1p: whether log(1 + value) is taken, after clamping.
        missing: what stands for a missing value; the middle of the bounds if not given.
    """

    kind: Literal["number"] = "number"
    bounds: Bounds
    log1p: bool = False
    missing: float | None = None
    sparse: ClassVar[bool] = False
    """Whether most of its encoded columns are 0, and the others weights that sum to 1."""

    _bounds_ordered = field_validator("bounds")(_ordered)

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

    def encode(self, column: str, values: pl.Series, out: FloatArray, counts: Counts) -> None:
        """Write the encoded column into `out`, shape (rows, 1)."""
        out[:, 0] = clamp(
            column, as_numbers(column, values, counts), self.bounds, self.missing, counts
        )
        if self.log1p:
            # Rounded differently from row to row, a logarithm may end a little outside its bounds.
            np.clip(np.log1p(out), *self.options()[:, 0], out=out)


class Hats(Plain):
    """A number as its weights on the public knots around it: a model of it bends at every knot.

    A value between two knots is a weight on each of them, and nothing on the others (B-splines of
    degree 1); beyond the outermost knots it counts as these. Weights are never below 0 and sum to 1,
    whatever the number of knots. A missing value is all 0, and counted, unless `missing` stands for it.

    Args:
        bounds: the public bounds. Outside values are clamped, and counted.
        knots: the knots, in increasing order inside the bounds.
        quantiles: instead of knots: how many, at evenly spaced quantiles of the public rows. Fitting
            the treaty's dictionary replaces it by knots.
        missing: what stands for a missing value.
    """

    kind: Literal["hats"]
    bounds: Bounds
    knots: Annotated[tuple[float, ...], Field(min_length=2, max_length=200)] | None = None
    quantiles: Annotated[int, Field(strict=True, ge=2, le=200)] | None = None
    missing: float | None = None
    sparse: ClassVar[bool] = True

    _bounds_ordered = field_validator("bounds")(_ordered)

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
        return len(self.knots) if self.knots is not None else self.quantiles or 0

    def names(self, column: str) -> list[str]:
        """Return the names of the encoded columns."""
        places = range(1, self.width + 1) if self.knots is None else self.knots
        return [f"{column}~{place:.6g}" for place in places]

    def options(self) -> FloatArray:
        """Return the extreme points of what it encodes to, shape (points, width)."""
        return np.vstack([np.zeros(self.width), np.eye(self.width)])

    def encode(self, column: str, values: pl.Series, out: FloatArray, counts: Counts) -> None:
        """Write the encoded columns into `out`, shape (rows, width)."""
        if self.knots is None:
            raise TreatyError(
                f'the knots of column "{column}" have not been placed yet: treaty fit does that, on '
                "public rows"
            )
        numbers = as_numbers(column, values, counts)
        absent = np.isnan(numbers)
        knots = np.array(self.knots)
        inside = np.clip(
            clamp(column, numbers, self.bounds, self.missing, counts), knots[0], knots[-1]
        )
        left = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(knots) - 2)
        right = (inside - knots[left]) / (knots[left + 1] - knots[left])
        out[:] = 0.0
        known = np.flatnonzero(~absent) if self.missing is None else np.arange(len(inside))
        out[known, left[known]] = 1.0 - right[known]
        out[known, left[known] + 1] = right[known]

    def placed(self, numbers: FloatArray) -> "Hats":
        """Return it with its knots at evenly spaced quantiles of public numbers.

        Where quantiles coincide, the widest gaps between knots are halved instead: there are as many
        knots as the treaty says.
        """
        if self.quantiles is None:
            return self
        low, high = self.bounds
        known = np.clip(numbers[~np.isnan(numbers)], low, high)
        if not len(known):
            known = np.array(self.bounds)
        found = np.unique(np.quantile(known, np.linspace(0.0, 1.0, self.quantiles)))
        apart = np.append(True, np.diff(found) > 1e-6 * (high - low))
        knots = found[apart]
        while len(knots) < self.quantiles:
            ends = np.unique([low, *knots, high])
            widest = int(np.diff(ends).argmax())
            knots = np.sort(np.append(knots, 0.5 * (ends[widest] + ends[widest + 1])))
        return self.model_copy(update={"knots": tuple(knots.tolist()), "quantiles": None})


class OneHot(Plain):
    """A category as one column each, 0 or 1. Unknown and missing values are all 0, and counted.

    Args:
        categories: the public list.
    """

    kind: Literal["one-hot"]
    categories: Annotated[tuple[str, ...], Field(min_length=1, max_length=2000)]
    sparse: ClassVar[bool] = True

    _categories_distinct = field_validator("categories")(_distinct)

    @property
    def width(self) -> int:
        """How many encoded columns it makes."""
        return len(self.categories)

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
    sparse: ClassVar[bool] = False

    _categories_distinct = field_validator("categories")(_distinct)

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


Feature = Annotated[Number | Hats | OneHot | Ordinal, Field(discriminator="kind")]


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
            _ordered(self.bounds)
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
