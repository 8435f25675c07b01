"""The public dictionary: how encoded columns become x.

It is fitted on public rows only and is plain data: every party applies the same numbers.
"""

import hashlib
import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
from pydantic import model_validator

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.losses import Norm
from treaty.records.columns import Feature, Plain

Vector = tuple[float, ...]
SMALLEST, LARGEST = 1e-50, 1e50
"""Numbers of a dictionary stay between these, so that no square of one can vanish or overflow."""


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
        if self.bandwidth is not None and not self.bandwidth > 0:
            raise ValueError(f"bandwidth must be above 0, not {self.bandwidth:g}")
        return self


class DictionaryTerms(Plain):
    """What the parties agree on about the dictionary.

    Args:
        standardise: "bounds" maps public bounds to [−1, 1] and needs no public rows; "public"
            subtracts the public rows' mean and divides by their standard deviation.
        components: keep this many principal components of the public rows.
        whiten: divide each component by its public standard deviation.
        fourier: random Fourier features on top.
        radius: scale every x into the ball of this radius.
        radius_quantile: fit that radius: this share of the public rows lies inside.
        norm: the ball's norm.
        intercept: the value of the constant column; 0 for none.
    """

    standardise: Literal["bounds", "public"] = "bounds"
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
        if self.whiten and self.components is None:
            raise ValueError("whiten divides principal components: say how many components")
        if self.radius is not None and self.radius_quantile is not None:
            raise ValueError("give radius or radius_quantile, not both")
        if self.radius is not None and not SMALLEST <= self.radius <= LARGEST:
            raise ValueError(f"radius must be above 0, not {self.radius:g}")
        if self.radius_quantile is not None and not 0 < self.radius_quantile <= 1:
            raise ValueError("radius_quantile must be above 0 and at most 1")
        if self.intercept < 0:
            raise ValueError(f"intercept must be 0 or above, not {self.intercept:g}")
        return self

    @property
    def needs_public_rows(self) -> bool:
        """Whether it has to be fitted."""
        return (
            self.standardise == "public"
            or self.components is not None
            or self.fourier is not None
            or self.radius_quantile is not None
        )


class Dictionary(Plain):
    """Encoded columns e to features: x = [scaled(map((e − centre)/scale)); intercept].

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

    @model_validator(mode="after")
    def _sound(self) -> "Dictionary":
        """Refuse numbers under which the declared norm bounds would not hold."""
        width = len(self.columns)
        if len(self.centre) != width or len(self.scale) != width:
            raise ValueError(f"centre and scale must have {width} numbers, one for each column")
        if any(not SMALLEST <= scale <= LARGEST for scale in self.scale):
            raise ValueError("every scale must be a positive number")
        for matrix in (self.directions, self.frequencies):
            if matrix is not None:
                if not matrix or any(len(row) != width for row in matrix):
                    raise ValueError(f"directions and frequencies need rows of {width} numbers")
                width = len(matrix)
        matrices = [*(self.directions or ()), *(self.frequencies or ())]
        numbers = [*self.centre, *(number for row in matrices for number in row)]
        if any(abs(number) > LARGEST for number in numbers):
            raise ValueError(f"no number of a dictionary may exceed {LARGEST:g}")
        if self.radius is not None and not SMALLEST <= self.radius <= LARGEST:
            raise ValueError(f"radius must be above 0, not {self.radius:g}")
        if not 0 <= self.intercept <= LARGEST:
            raise ValueError(f"intercept must be 0 or above, not {self.intercept:g}")
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
        coordinate by coordinate.
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
        return l1 + self.intercept, math.hypot(l2, self.intercept)

    def _linear_bounds(self, features: Mapping[str, Feature]) -> tuple[float, float]:
        centre, scale = np.array(self.centre), np.array(self.scale)
        directions = None if self.directions is None else np.array(self.directions)
        l1 = square = 0.0
        low = high = np.zeros(0 if directions is None else len(directions))
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
        if directions is None:
            return l1, math.sqrt(square)
        reach = np.maximum(np.abs(low), np.abs(high))
        return float(reach.sum()), float(np.linalg.norm(reach))


def lengths(x: FloatArray, norm: Norm) -> FloatArray:
    """Return the norm of every row."""
    if norm == "l1":
        return np.abs(x).sum(axis=1)
    return np.sqrt(np.einsum("ij,ij->i", x, x))


def bounds_dictionary(terms: DictionaryTerms, features: Mapping[str, Feature]) -> Dictionary:
    """Return the dictionary that needs no public rows: it maps bounds to [−1, 1]."""
    centre, scale = _from_bounds(features)
    return Dictionary(
        columns=encoded_columns(features),
        centre=tuple(centre),
        scale=tuple(scale),
        radius=terms.radius,
        norm=terms.norm,
        intercept=terms.intercept,
    )


def fit_dictionary(
    terms: DictionaryTerms, features: Mapping[str, Feature], encoded: FloatArray
) -> Dictionary:
    """Fit the dictionary on encoded public rows.

    Args:
        terms: what the parties agreed on.
        features: the columns.
        encoded: the public rows, encoded, shape (rows, columns).
    """
    names = encoded_columns(features)
    rows = len(encoded)
    if rows < 2:
        raise TreatyError(f"a dictionary cannot be fitted on {rows} public row(s): give more")
    if terms.components is not None and terms.components > len(names):
        raise TreatyError(f"{terms.components} components cannot come out of {len(names)} columns")
    centre, scale = _from_bounds(features)
    if terms.standardise == "public":
        centre = encoded.mean(axis=0)
        numeric = np.array([f.kind != "one-hot" for f in features.values() for _ in range(f.width)])
        spread = encoded.std(axis=0)
        flat = spread <= 1e-9 * np.abs(scale)
        for name in (n for n, s, m in zip(names, flat, numeric, strict=True) if m and s):
            raise TreatyError(
                f'column "{name}" is constant in the public rows, so it cannot be standardised: '
                "leave it out, or give public rows in which it varies"
            )
        scale = np.where(numeric, spread, 1.0)
    z = (encoded - centre) / scale
    directions = None
    if terms.components is not None:
        directions = _principal(z, terms.components, terms.whiten)
        z = z @ directions.T
    frequencies = None if terms.fourier is None else _frequencies(terms.fourier, z)
    fitted = Dictionary(
        columns=names,
        centre=tuple(centre.tolist()),
        scale=tuple(scale.tolist()),
        directions=None if directions is None else _plain(directions),
        frequencies=None if frequencies is None else _plain(frequencies),
        norm=terms.norm,
        intercept=terms.intercept,
        public_rows=rows,
        fitted_on=digest(encoded),
    )
    radius = terms.radius
    if terms.radius_quantile is not None:
        radius = float(
            np.quantile(lengths(fitted.features(encoded), terms.norm), terms.radius_quantile)
        )
        if radius < SMALLEST:
            raise TreatyError("the public rows are all zeros, so no radius can be fitted on them")
    return fitted.model_copy(update={"radius": radius})


def digest(encoded: FloatArray) -> str:
    """Return a digest of encoded rows."""
    return hashlib.sha256(np.ascontiguousarray(encoded).tobytes()).hexdigest()[:16]


def encoded_columns(features: Mapping[str, Feature]) -> tuple[str, ...]:
    """Return the names of all encoded columns, in order."""
    return tuple(name for column, f in features.items() for name in f.names(column))


def _from_bounds(features: Mapping[str, Feature]) -> tuple[FloatArray, FloatArray]:
    centre: list[float] = []
    scale: list[float] = []
    for feature in features.values():
        if feature.kind == "one-hot":
            centre += [0.0] * feature.width
            scale += [1.0] * feature.width
        else:
            low, high = feature.options()[:, 0].tolist()
            centre.append(0.5 * (low + high))
            scale.append(0.5 * (high - low))
    return np.array(centre), np.array(scale)


def _principal(z: FloatArray, components: int, whiten: bool) -> FloatArray:
    """Return the leading principal directions, each with its largest entry positive."""
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(z, rowvar=False, bias=True)))
    order = np.argsort(values)[::-1][:components]
    directions = vectors[:, order].T
    largest = np.abs(directions).argmax(axis=1)
    directions = directions * np.sign(directions[np.arange(len(order)), largest])[:, None]
    if whiten:
        spread = np.sqrt(np.maximum(values[order], 0.0))
        flat = np.flatnonzero(spread <= 1e-9 * spread[0])
        if len(flat) or spread[0] == 0:
            raise TreatyError(
                f"the public rows have only {len(order) - len(flat)} components that vary, so "
                f"{components} cannot be whitened: choose fewer components"
            )
        directions = directions / spread[:, None]
    return directions


def _frequencies(terms: Fourier, z: FloatArray) -> FloatArray:
    random = np.random.default_rng(terms.seed)
    bandwidth = terms.bandwidth
    if bandwidth is None:
        pairs = random.integers(len(z), size=(1000, 2))
        apart = np.linalg.norm(z[pairs[:, 0]] - z[pairs[:, 1]], axis=1)
        bandwidth = float(np.median(apart[apart > 0])) if np.any(apart > 0) else 1.0
    return random.standard_normal((terms.features // 2, z.shape[1])) / bandwidth


def _plain(matrix: FloatArray) -> tuple[Vector, ...]:
    return tuple(tuple(row) for row in matrix.tolist())
