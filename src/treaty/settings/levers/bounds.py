"""Bounds of numbers: tight ones tame rare extremes and cost less noise; wide ones let them count."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from treaty.records import Counts, Hats, Number
from treaty.records.values import as_numbers
from treaty.settings.expecting import Judge
from treaty.settings.levers.lever import Lever, Option, with_features
from treaty.terms import Treaty

USUAL = 0.01
"""The share of public rows outside on either side that is taken unless another is clearly better."""
OUTSIDE = (0.001, 0.02, 0.05)
"""Other shares of public rows that lie below the lower bound, and as many above the upper one."""


class Bounds(Lever):
    """All numbers clamped as the draft says, or at quantiles of the public rows.

    For labels only: where numbers are predicted, a record beyond all public rows costs dearly once it is
    clamped, and these rows cannot tell. Where a label is rare they hardly tell one share from another
    either, and the lowest of many expected errors is mostly luck: so the usual share comes first.

    Args:
        drafted: the draft, whose own bounds are one way.
    """

    name: ClassVar[str] = "bounds"
    line: ClassVar[str] = "features"

    def __init__(self, drafted: Treaty) -> None:
        labels = drafted.target.bounds is None
        self._drafted = {
            name: feature.bounds
            for name, feature in drafted.features.items()
            if labels
            and (
                isinstance(feature, Number) or (isinstance(feature, Hats) and feature.knots is None)
            )
        }

    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return bounds at the usual quantiles, then the draft's, then wider and tighter ones."""
        if not self._drafted:
            return
        for share in (USUAL, None, *OUTSIDE):
            if share is None:
                yield Option(_within(treaty, self._drafted), "as drafted")
                continue
            if share * len(judge.rows) < 1:
                continue
            found = {name: _quantiles(judge, name, share) for name in self._drafted}
            tight = {n: found[n] or drafted for n, drafted in self._drafted.items()}
            if tight != self._drafted:
                words = f"{100 * share:g}% of public rows outside on either side"
                yield Option(_within(treaty, tight), words)


def _within(treaty: Treaty, bounds: dict[str, tuple[float, float]]) -> Treaty:
    changed = {
        name: treaty.features[name].model_copy(update={"bounds": pair})
        for name, pair in bounds.items()
    }
    return with_features(treaty, changed)


def _quantiles(judge: Judge, column: str, share: float) -> tuple[float, float] | None:
    """Return the bounds that leave a share outside on either side; None where they are one value."""
    numbers = as_numbers(column, judge.rows[column], Counts(), "missing")
    low, high = np.quantile(numbers[np.isfinite(numbers)], [share, 1 - share])
    bounds = float(f"{low:.4g}"), float(f"{high:.4g}")
    return bounds if bounds[0] < bounds[1] else None
