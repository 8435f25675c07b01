"""A model's coefficients by column in the user's own units: what scaling and rotation did is undone."""

from collections.abc import Iterator, Mapping

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.records import Dictionary, Feature

CONSTANT = "constant"


def coefficients(
    features: Mapping[str, Feature], dictionary: Dictionary, theta: FloatArray
) -> dict[str, float]:
    """Return what a score rises by for one more of each column, and the score where all are 0.

    Records that are scaled into the public ball are taken as they are without.

    Args:
        features: the columns.
        dictionary: how encoded columns become x.
        theta: θ, of the dictionary's numbers.
    """
    if dictionary.frequencies is not None:
        raise TreatyError(
            "a model of random Fourier features has no coefficient of a column: look at its predictions"
        )
    slopes, constant = theta, 0.0
    if dictionary.intercept_index is not None:
        slopes, constant = theta[:-1], float(theta[-1]) * dictionary.intercept
    if dictionary.directions is not None:
        slopes = slopes @ np.array(dictionary.directions)
    slopes = slopes / np.array(dictionary.scale)
    constant -= float(slopes @ np.array(dictionary.centre))
    found: dict[str, float] = {}
    units = (unit for column, feature in features.items() for unit in _units(column, feature))
    for slope, (name, offset, factor) in zip(slopes.tolist(), units, strict=True):
        found[name] = slope * factor
        constant += slope * offset
    return {CONSTANT: constant, **found}


def _units(column: str, feature: Feature) -> Iterator[tuple[str, float, float]]:
    """Return each encoded column as offset + factor · what the user has: its name, offset, factor."""
    if feature.kind == "number":
        yield (f"log(1 + {column})" if feature.log1p else column), 0.0, 1.0
    elif feature.kind == "ordinal":
        yield f"{column}, by one place", -1.0, 2.0 / (len(feature.categories) - 1)
    else:
        for name, number in zip(feature.names(column), feature.numeric, strict=True):
            if not number:
                yield name, 0.0, 1.0
                continue
            low, high = _line(feature)
            yield name, -(low + high) / (high - low), 2.0 / (high - low)


def _line(feature: Feature) -> tuple[float, float]:
    """Return the ends of what goes from −1 to 1."""
    if feature.kind == "hats":
        return feature.bounds
    assert feature.kind == "date"
    assert feature.years is not None
    return float(feature.years[0]), float(feature.years[1])
