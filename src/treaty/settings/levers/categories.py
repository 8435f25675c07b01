"""Categories: those that next to no public row has are noise, and cost noise."""

from collections.abc import Iterator
from typing import ClassVar

import polars as pl

from treaty.records import OneHot
from treaty.settings.expecting import Judge
from treaty.settings.levers.lever import Lever, Option, with_features
from treaty.terms import Treaty

FEWEST = (3, 10, 30)


class Categories(Lever):
    """All categories that the draft lists, or only those that so many public rows have.

    A ridge shrinks what rare categories say already; they are left out where that is clearly better.
    Without a column for the most frequent category most of a record is 0, and costs less noise.

    Args:
        drafted: the draft, whose own lists are one way.
    """

    name: ClassVar[str] = "categories"
    line: ClassVar[str] = "features"

    def __init__(self, drafted: Treaty) -> None:
        self._listed = {n: f for n, f in drafted.features.items() if isinstance(f, OneHot)}

    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return all categories that the draft lists, then fewer; also without the most frequent."""
        if not self._listed:
            return
        ways = {"all categories listed": self._listed}
        for fewest in FEWEST:
            kept = {n: _kept(judge, n, feature, fewest) for n, feature in self._listed.items()}
            if kept not in ways.values():
                ways[f"categories that {fewest} public rows have"] = kept
        for words, listed in ways.items():
            yield Option(with_features(treaty, listed), words)
            fewer = {n: _without_most_frequent(judge, n, f) for n, f in listed.items()}
            if fewer != listed:
                yield Option(with_features(treaty, fewer), f"{words}, but for the most frequent")


def _counted(judge: Judge, column: str) -> pl.DataFrame:
    return judge.rows[column].cast(pl.String).value_counts(sort=True, name="count")


def _without_most_frequent(judge: Judge, column: str, feature: OneHot) -> OneHot:
    """Leave out the most frequent category, if it is listed and not the only one."""
    most = _counted(judge, column).drop_nulls()[column].head(1).to_list()
    names = tuple(name for name in feature.categories if name not in most)
    return feature.model_copy(update={"categories": names or feature.categories})


def _kept(judge: Judge, column: str, feature: OneHot, fewest: int) -> OneHot:
    often = set(_counted(judge, column).filter(pl.col("count") >= fewest)[column].to_list())
    names = tuple(name for name in feature.categories if name in often)
    return feature.model_copy(update={"categories": names or feature.categories[:1]})
