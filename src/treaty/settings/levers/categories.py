"""Categories: those that next to no public row has are noise, and cost noise."""

from collections.abc import Iterator
from typing import ClassVar

import polars as pl

from treaty.records import OneHot
from treaty.settings.expecting import Judge
from treaty.settings.levers.lever import Lever, Option, with_features
from treaty.terms import Treaty

FEWEST = (30, 10, 3)


class Categories(Lever):
    """Only categories that so many public rows have; the others count as none."""

    name: ClassVar[str] = "categories"
    line: ClassVar[str] = "features"
    ordered: ClassVar[bool] = False

    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return few categories, more, and then all that the treaty lists."""
        listed = {n: f for n, f in treaty.features.items() if isinstance(f, OneHot)}
        if not listed:
            return
        last: dict[str, OneHot] = {}
        for fewest in FEWEST:
            kept = {name: _kept(judge, name, feature, fewest) for name, feature in listed.items()}
            if kept in (last, listed):
                continue
            last = kept
            yield Option(with_features(treaty, kept), f"categories that {fewest} public rows have")
        yield Option(treaty, "all categories listed")


def _kept(judge: Judge, column: str, feature: OneHot, fewest: int) -> OneHot:
    counted = judge.rows[column].cast(pl.String).value_counts(name="count")
    often = set(counted.filter(pl.col("count") >= fewest)[column].to_list())
    names = tuple(name for name in feature.categories if name in often)
    return feature.model_copy(update={"categories": names or feature.categories[:1]})
