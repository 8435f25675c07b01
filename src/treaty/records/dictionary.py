"""The public dictionary: how encoded columns become x.

It is fitted on public rows only and is plain data: every party applies the same numbers.
"""

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
from pydantic import model_validator

from treaty.arrays import FloatArray
from treaty.limits import check_magnitude, check_size
from treaty.losses import Norm
from treaty.matrices import absolute, euclidean
from treaty.plain import Plain
from treaty.records.columns import Feature

Vector = tuple[float, ...]
ROUNDING = float(np.finfo(float).eps) / 2
"""The largest relative error of one operation on doubles, 2⁻⁵³."""


class Fourier(Plain):
    """Random Fourier features: a public map after which a linear model is a Gaussian kernel one.

    Args:
        features: how many, an even number: half cosines, half sines.
        bandwidth: the kernel's width; the median distance of public rows if not given.
        seed: of the random frequencies, which are public and stored.
    """

    features: int
    bandwidth: float | None = None
    seed: int = 0

    @model_validator(mode="after")
    def _even(self) -> "Fourier":
        if self.features < 2 or self.features % 2:
            raise ValueError(f"features must be an even number above 0, not {self.features}")
        if self.bandwidth is not None:
            check_size("bandwidth", self.bandwidth)
        return self


class DictionaryTerms(Plain):
    """What the parties agree on about the dictionary.

    Args:
        standardise: "bounds" maps public bounds to [−1, 1] and needs no public rows; "public"
            subtracts the public rows' mean and divides by their standard deviation; "frequency" does
            so with numbers, and divides categories and hats, which stay sparse, by the root of how
            frequent they are: the least noise for records made of categories.
        components: keep this many principal components of the public rows.
        whiten: divide each component by its public standard deviation. With "frequency" and no
            components: numbers are whitened among themselves, beside categories as they are, as
            far as the rows are enough to tell how numbers go together.
        fourier: random Fourier features on top.
        radius: scale every x into the ball of this radius.
        radius_quantile: fit that radius: this share of the public rows lies inside.
        norm: the ball's norm.
        intercept: the value of the constant column; 0 for none.
    """

    standardise: Literal["bounds", "public", "frequency"] = "bounds"
    components: int | None = None
    whiten: bool = False
    fourier: Fourier | None = None
    radius: float | None = None
    radius_quantile: float | None = None
    norm: Norm = "l2"
    intercept: float = 1.0

    @model_validator(mode="after")
    def _sensible(self) -> "DictionaryTerms":
        if self.components is not None and self.components < 1:
            raise ValueError(f"components must be at least 1, not {self.components}")
        if self.whiten and self.components is None and self.standardise != "frequency":
            raise ValueError(
                "whiten divides principal components: say how many components, or set "
                'standardise = "frequency" to whiten numbers among themselves'
            )
        if self.radius is not None and self.radius_quantile is not None:
            raise ValueError("give radius or radius_quantile, not both")
        if self.radius is not None:
            check_size("radius", self.radius)
        if self.radius_quantile is not None and not 0 < self.radius_quantile <= 1:
            raise ValueError("radius_quantile must be above 0 and at most 1")
        check_size("intercept", self.intercept, zero=True)
        return self

    @property
    def needs_public_rows(self) -> bool:
        """Whether it has to be fitted."""
        return (
            self.standardise != "bounds"
            or self.components is not None
            or self.fourier is not None
            or self.radius_quantile is not None
        )


class Dictionary(Plain):
    """Encoded columns e to features: x = [scaled(map((e − centre)/scale)); intercept].

    Beside it, fitted on the same rows: along which axes of x owners are asked.

    Args:
        columns: the encoded columns it applies to, in order.
        centre: subtracted.
        scale: divided by.
        directions: rows to project on, if any; whitening is folded in.
        frequencies: random Fourier frequencies, if any.
        radius: every x is scaled into this ball, if any.
        norm: the ball's norm.
        intercept: the value of the constant column; 0 for none.
        public_rows: how many public rows it was fitted on.
        fitted_on: a digest of those rows, by which a forecast knows them again.
        axes: directions of x, if gradients are asked for along these alone; each has p numbers.
    """

    columns: tuple[str, ...]
    centre: Vector
    scale: Vector
    directions: tuple[Vector, ...] | None = None
    frequencies: tuple[Vector, ...] | None = None
    radius: float | None = None
    norm: Norm = "l2"
    intercept: float = 1.0
    public_rows: int = 0
    fitted_on: str = ""
    axes: tuple[Vector, ...] | None = None

    @model_validator(mode="after")
    def _sound(self) -> "Dictionary":
        """Refuse numbers under which the declared norm bounds would not hold."""
        width = len(self.columns)
        if len(self.centre) != width or len(self.scale) != width:
            raise ValueError(f"centre and scale must have {width} numbers, one for each column")
        for scale in self.scale:
            check_size("every scale of a dictionary", scale)
        for matrix in (self.directions, self.frequencies):
            if matrix is not None:
                if not matrix or any(len(row) != width for row in matrix):
                    raise ValueError(f"directions and frequencies need rows of {width} numbers")
                width = len(matrix)
        matrices = [*(self.directions or ()), *(self.frequencies or ())]
        if self.axes is not None and any(len(axis) != self.dimension for axis in self.axes):
            raise ValueError(f"axes need {self.dimension} numbers each")
        matrices += self.axes or ()
        numbers = [*self.centre, *(number for row in matrices for number in row)]
        for number in numbers:
            check_magnitude("a number of a dictionary", number)
        if self.radius is not None:
            check_size("radius", self.radius)
        check_size("intercept", self.intercept, zero=True)
        return self

    @property
    def dimension(self) -> int:
        """p, the length of x, the constant column included."""
        if self.frequencies is not None:
            features = 2 * len(self.frequencies)
        else:
            features = len(self.columns if self.directions is None else self.directions)
        return features + (self.intercept > 0)

    @property
    def intercept_index(self) -> int | None:
        """Where the constant column is."""
        return self.dimension - 1 if self.intercept > 0 else None

    def apply(self, encoded: FloatArray) -> tuple[FloatArray, int]:
        """Return x for encoded rows, and how many rows had to be scaled into the ball."""
        x = self.features(encoded)
        scaled = 0
        if self.radius is not None:
            size = lengths(x, self.norm)
            outside = size > self.radius
            scaled = int(np.count_nonzero(outside))
            if scaled:
                x[outside] *= (self.radius / size[outside])[:, None]
        if self.intercept > 0:
            x[:, -1] = self.intercept
        return x, scaled

    def features(self, encoded: FloatArray) -> FloatArray:
        """Return the features before scaling, with room (zeros) for the constant column."""
        x = np.empty((len(encoded), self.dimension), order="F")
        inside = x[:, :-1] if self.intercept > 0 else x
        if self.intercept > 0:
            x[:, -1] = 0.0
        straight = inside if self.directions is None and self.frequencies is None else None
        z = np.subtract(encoded, np.array(self.centre), out=straight)
        z /= np.array(self.scale)
        if self.directions is not None:
            z = z @ np.array(self.directions).T
        if self.frequencies is not None:
            angle = z @ np.array(self.frequencies).T
            root = 1.0 / math.sqrt(len(self.frequencies))
            z = np.hstack([np.cos(angle) * root, np.sin(angle) * root])
        if straight is None:
            inside[:] = z
        return x

    def norm_bounds(self, features: Mapping[str, Feature]) -> tuple[float, float]:
        """Return sup‖x‖₁ and sup‖x‖₂ over everything that can be encoded.

        Columns are independent of each other, and the sup of a convex function over a product is
        at extreme points, so each feature's options are tried; with directions, the bound is taken
        coordinate by coordinate. Both are rounded up by what computing x and its norm may be off.
        """
        if self.frequencies is not None:
            # ‖x‖₂ is exactly 1, and ‖x‖₁ ≤ √(2m)·‖x‖₂.
            l1, l2 = math.sqrt(2 * len(self.frequencies)), 1.0
        else:
            l1, l2 = self._linear_bounds(features)
        if self.radius is not None:
            width = self.dimension - (self.intercept > 0)
            ball = self.radius if self.norm == "l1" else math.sqrt(width) * self.radius
            l1, l2 = min(l1, ball), min(l2, self.radius)
        l2 = min(l2, l1)
        up = 1.0 + 8 * (self.dimension + 16) * ROUNDING
        return (l1 + self.intercept) * up, math.hypot(l2, self.intercept) * up

    def _linear_bounds(self, features: Mapping[str, Feature]) -> tuple[float, float]:
        centre, scale = np.array(self.centre), np.array(self.scale)
        directions = None if self.directions is None else np.array(self.directions)
        l1 = square = 0.0
        low = high = total = np.zeros(0 if directions is None else len(directions))
        start = 0
        for feature in features.values():
            place = slice(start, start + feature.width)
            start += feature.width
            options = (feature.options() - centre[place]) / scale[place]
            if directions is None:
                l1 += float(np.abs(options).sum(axis=1).max())
                square += float((options**2).sum(axis=1).max())
            else:
                moved = options @ directions[:, place].T
                low, high = low + moved.min(axis=0), high + moved.max(axis=0)
                total = total + (np.abs(options) @ np.abs(directions[:, place]).T).max(axis=0)
        if directions is None:
            return l1, math.sqrt(square)
        # Terms that cancel leave their rounding behind, in whatever order they are added up.
        reach = np.maximum(np.abs(low), np.abs(high)) + 4 * (start + 8) * ROUNDING * total
        return float(reach.sum()), float(np.linalg.norm(reach))


def lengths(x: FloatArray, norm: Norm) -> FloatArray:
    """Return the norm of every row."""
    return absolute(x) if norm == "l1" else euclidean(x)
