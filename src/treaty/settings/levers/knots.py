"""Numbers as straight lines or as hats: how often a model may bend."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from treaty.records import Counts, Feature, Hats, Number
from treaty.records.values import as_numbers
from treaty.settings.expecting import Judge
from treaty.settings.levers.lever import Lever, Option, with_features
from treaty.terms import Treaty

NUMBERS = (4, 8, 16)


class Knots(Lever):
    """All numbers straight, or with hats besides, at so many quantiles of the public rows."""

    name: ClassVar[str] = "knots"
    line: ClassVar[str] = "features"

    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return straight lines, then more and more knots."""
        bent = [n for n, f in treaty.features.items() if isinstance(f, Number | Hats)]
        if not bent:
            return
        distinct = {name: _distinct(judge, name) for name in bent}
        yield Option(
            with_features(treaty, {n: _straight(treaty.features[n]) for n in bent}),
            "straight lines",
        )
        last: dict[str, int] = {}
        for number in NUMBERS:
            if len(judge.rows) < 10 * number:
                return
            knots = {n: min(number, distinct[n]) for n in bent}
            if knots == last:
                return
            last = knots
            made = {
                n: _hats(treaty.features[n], k) if k > 2 else _straight(treaty.features[n])
                for n, k in knots.items()
            }
            yield Option(with_features(treaty, made), f"hats at {number} quantiles")


def _distinct(judge: Judge, column: str) -> int:
    numbers = as_numbers(column, judge.rows[column], Counts(), "missing")
    return len(np.unique(numbers[np.isfinite(numbers)]))


def _straight(feature: Feature) -> Feature:
    if isinstance(feature, Hats):
        return Number(
            bounds=feature.bounds,
            missing=feature.missing,
            texts=feature.texts,
            words=feature.words,
        )
    return feature


def _hats(feature: Feature, number: int) -> Feature:
    assert isinstance(feature, Number | Hats)
    return Hats(
        kind="hats",
        bounds=feature.bounds,
        quantiles=number,
        missing=feature.missing,
        straight=True,
        texts=feature.texts,
        words=feature.words,
    )
