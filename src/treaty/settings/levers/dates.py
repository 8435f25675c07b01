"""Dates: each part of them is a dozen columns or more, and costs noise."""

from collections.abc import Iterator
from itertools import combinations
from typing import ClassVar

from treaty.records import Date
from treaty.records.dates import Part
from treaty.settings.expecting import Judge
from treaty.settings.levers.lever import Lever, Option
from treaty.terms import Treaty


class Dates(Lever):
    """No dates, or some of the parts that the draft has of them.

    Args:
        drafted: the draft, whose own parts are one way.
    """

    name: ClassVar[str] = "dates"
    line: ClassVar[str] = "features"

    def __init__(self, drafted: Treaty) -> None:
        self._dated = {n: f for n, f in drafted.features.items() if isinstance(f, Date)}

    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return nothing of the dates, then more and more parts."""
        if not self._dated:
            return
        there: tuple[Part, ...] = ("year", "month", "weekday", "hour")
        parts: list[Part] = [part for part in there if self._any_has(part)]
        for number in range(len(parts) + 1):
            for chosen in combinations(parts, number):
                features = {n: f for n, f in treaty.features.items() if n not in self._dated}
                features |= {n: _of(f, chosen) for n, f in self._dated.items() if _has(f, chosen)}
                if features:
                    ordered = dict(sorted(features.items()))
                    words = f"dates as {', '.join(chosen)}" if chosen else "without dates"
                    yield Option(treaty.model_copy(update={"features": ordered}), words)

    def _any_has(self, part: Part) -> bool:
        return any(part in feature.parts for feature in self._dated.values())


def _has(feature: Date, parts: tuple[Part, ...]) -> bool:
    return any(part in feature.parts for part in parts)


def _of(feature: Date, parts: tuple[Part, ...]) -> Date:
    """Return a date as those of its parts."""
    kept = tuple(part for part in feature.parts if part in parts)
    years = feature.years if "year" in kept else None
    return feature.model_copy(update={"parts": kept, "years": years})
