"""Fitting the public dictionary, on public rows or from public bounds alone."""

import hashlib
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.limits import SMALLEST
from treaty.records.columns import Feature
from treaty.records.counts import Counts
from treaty.records.dictionary import Dictionary, DictionaryTerms, Fourier, Vector, lengths
from treaty.records.hats import Hats
from treaty.records.sources import Source

FLAT = 1e-6
"""A component whose spread is at most this share of the largest is rounding, and is not whitened."""
ENOUGH = 1e-3
"""A component with a variance above this share of the largest varies enough to count."""


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
    terms: DictionaryTerms,
    features: Mapping[str, Feature],
    encoded: FloatArray,
    whole: Dictionary | None = None,
) -> Dictionary:
    """Fit the dictionary on encoded public rows.

    A part of them may hold no row in which some column varies: it then keeps the scale that it has in
    the whole. A component that does not vary there is not whitened.

    Args:
        terms: what the parties agreed on.
        features: the columns.
        encoded: the public rows, encoded, shape (rows, columns).
        whole: the dictionary of all public rows, if these are a part of them.
    """
    names = encoded_columns(features)
    rows = len(encoded)
    if rows < 2:
        raise TreatyError(f"a dictionary cannot be fitted on {rows} public row(s): give more")
    components = terms.components
    if components is not None and whole is not None:
        components = min(components, len(names))
    if components is not None and components > len(names):
        raise TreatyError(f"{components} components cannot come out of {len(names)} columns")
    centre, scale = _from_bounds(features)
    if terms.standardise != "bounds":
        centre = encoded.mean(axis=0)
        numeric = np.array([number for f in features.values() for number in f.numeric])
        spread = encoded.std(axis=0)
        flat = spread <= 1e-9 * np.abs(scale)
        if whole is not None:
            known = dict(zip(whole.columns, whole.scale, strict=True))
            spread = np.where(flat, [known.get(name, 1.0) for name in names], spread)
        elif np.any(flat & numeric):
            name = names[int(np.argmax(flat & numeric))]
            raise TreatyError(
                f'column "{name}" is constant in the public rows, so it cannot be standardised: '
                "leave it out, or give public rows in which it varies"
            )
        others = np.ones(len(names))
        if terms.standardise == "frequency":
            centre = np.where(numeric, centre, 0.0)
            # As if one more row had every category: one that no public row has is rare, not absent.
            others = np.sqrt((np.square(encoded).sum(axis=0) + 1.0) / (rows + 1.0))
        scale = np.where(numeric, spread, others)
    z = (encoded - centre) / scale
    directions = None
    if components is not None:
        directions = _principal(z, components, terms.whiten, whole is not None)
    elif terms.whiten:
        directions = _numbers_whitened(z, features)
    if directions is not None:
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


def place_knots(features: Mapping[str, Feature], public: Source | None) -> dict[str, Feature]:
    """Return the columns with every knot placed, at quantiles of public rows where there are to be any.

    Args:
        features: the columns.
        public: public rows; without any, knots are spread evenly between the bounds.
    """
    open_ = {c: f for c, f in features.items() if isinstance(f, Hats) and f.knots is None}
    found: dict[str, list[FloatArray]] = {column: [np.zeros(0)] for column in open_}
    counts = Counts()
    for frame in public.blocks(list(open_)) if public is not None and open_ else ():
        for column, feature in open_.items():
            try:
                found[column].append(feature.numbers(column, frame[column], counts))
            except TreatyError as error:
                raise TreatyError(f"{public.label if public else ''}: {error}") from error
        counts.rows += len(frame)
    placed = {c: feature.placed(np.concatenate(found[c])) for c, feature in open_.items()}
    return {column: placed.get(column, feature) for column, feature in features.items()}


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
        if not all(feature.numeric):
            centre += [0.0] * feature.width
            scale += [1.0] * feature.width
        else:
            low, high = feature.options()[:, 0].tolist()
            centre.append(0.5 * (low + high))
            scale.append(0.5 * (high - low))
    return np.array(centre), np.array(scale)


def varying(encoded: FloatArray) -> int:
    """Return how many principal components of encoded rows vary enough to be whitened."""
    spread = encoded.std(axis=0)
    z = (encoded - encoded.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    values = np.linalg.eigvalsh(np.atleast_2d(np.cov(z, rowvar=False, bias=True)))
    return max(1, int(np.sum(values > ENOUGH * values[-1])))


def _principal(z: FloatArray, components: int, whiten: bool, part: bool) -> FloatArray:
    """Return the leading principal directions, each with its largest entry positive.

    Args:
        z: rows.
        components: how many.
        whiten: whether the rows vary by 1 along each.
        part: whether these are a part of the rows: a direction along which they do not vary is then left
            as it is.
    """
    values, directions = _turned(z)
    values, directions = values[:components], directions[:components]
    if whiten:
        spread = np.sqrt(np.maximum(values, 0.0))
        flat = spread <= FLAT * spread[0]
        if part:
            spread = np.where(flat, 1.0, spread)
        elif np.any(flat):
            raise TreatyError(
                f"the public rows have only {int(np.sum(~flat))} components that vary, so "
                f"{components} cannot be whitened: choose fewer components"
            )
        directions = directions / spread[:, None]
    return directions


def _numbers_whitened(z: FloatArray, features: Mapping[str, Feature]) -> FloatArray | None:
    """Return directions that whiten numbers among themselves and leave all else as it is.

    Along some direction few rows vary less than others will, and the more so the fewer they are: their
    covariance is shrunk towards a multiple of the identity first, as far as they are too few for it.

    References:
        Ledoit, Wolf: A well-conditioned estimator for large-dimensional covariance matrices, 2004.
    """
    from sklearn import covariance

    numeric = np.array([number for f in features.values() for number in f.numeric])
    numbers = np.flatnonzero(numeric)
    if len(numbers) < 2:
        return None
    rows = z[:, numbers]
    values, directions = _turned(rows)
    shrunk = max(float(cast(Any, covariance).ledoit_wolf_shrinkage(rows)), 1 / len(rows))
    values = (1 - shrunk) * np.maximum(values, 0.0) + shrunk * float(values.mean())
    wide = np.zeros((len(numbers), z.shape[1]))
    wide[:, numbers] = directions / np.sqrt(np.where(values > FLAT**2, values, 1.0))[:, None]
    return np.vstack([wide, np.eye(z.shape[1])[~numeric]])


def _turned(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return variances along principal directions, largest first, and these, as rows.

    Each has its largest entry positive.
    """
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(z, rowvar=False, bias=True)))
    values, directions = values[::-1], vectors[:, ::-1].T
    largest = np.abs(directions).argmax(axis=1)
    return values, directions * np.sign(directions[np.arange(len(values)), largest])[:, None]


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
