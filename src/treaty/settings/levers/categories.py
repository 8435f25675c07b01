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


class Reference(Lever):
    """Every category has a column, or all but the most frequent one: then most of a record is 0."""

    name: ClassVar[str] = "reference"
    line: ClassVar[str] = "features"
    ordered: ClassVar[bool] = False

    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return the categories as they are, then without the most frequent of each column."""
        listed = {n: f for n, f in treaty.features.items() if isinstance(f, OneHot)}
        fewer = {name: _without_reference(judge, name, feature) for name, feature in listed.items()}
        if fewer == listed:
            return
        yield Option(treaty, "every category listed")
        yield Option(
            with_features(treaty, fewer), "the most frequent of each column counts as none"
        )


def _counted(judge: Judge, column: str) -> pl.DataFrame:
    return judge.rows[column].cast(pl.String).value_counts(sort=True, name="count")


def _without_reference(judge: Judge, column: str, feature: OneHot) -> OneHot:
    """Leave out the most frequent category, if it is listed and not the only one."""
    most = _counted(judge, column).drop_nulls()[column].head(1).to_list()
    names = tuple(name for name in feature.categories if name not in most)
    return feature.model_copy(update={"categories": names or feature.categories})


def _kept(judge: Judge, column: str, feature: OneHot, fewest: int) -> OneHot:
    often = set(_counted(judge, column).filter(pl.col("count") >= fewest)[column].to_list())
    names = tuple(name for name in feature.categories if name in often)
    return feature.model_copy(update={"categories": names or feature.categories[:1]})
