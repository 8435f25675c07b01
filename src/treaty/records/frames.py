"""Records in a data frame: Polars or pandas."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from treaty.errors import TreatyError
from treaty.records.cells import column_of, name_of
from treaty.records.sources import BLOCK, Source


class FrameSource(Source):
    """The rows of a frame, in its order.

    Args:
        frame: a Polars or pandas data frame.
        name: how to speak of it in a message.
    """

    def __init__(self, frame: Any, name: str = "the data frame") -> None:
        self._frame = _without_objects(as_polars(frame))
        self._name = name

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """The columns, and what they hold."""
        return self._frame.schema

    @property
    def place(self) -> str:
        """Its name."""
        return self._name

    def of_owner(self, by: str, owner: str) -> "FrameSource":
        """Return the records of one owner."""
        self.require([by])
        mine = self._frame.filter(name_of(by, self.schema[by]) == owner)
        return FrameSource(mine, f"{owner} in {self._name}")

    def blocks(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Stream the given columns."""
        self.require(columns)
        yield from self._frame.select(columns).iter_slices(BLOCK)


def is_frame(thing: object) -> bool:
    """Whether something is a Polars or pandas data frame; pandas need not be installed to tell."""
    return isinstance(thing, pl.DataFrame | pl.LazyFrame) or (
        hasattr(thing, "columns") and hasattr(thing, "iloc")
    )


def as_polars(frame: Any, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return a Polars or pandas data frame, or a mapping of columns, as a Polars one.

    Args:
        frame: the frame.
        columns: which columns are needed; all if not given.
    """
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if isinstance(frame, pl.DataFrame):
        return frame
    labels = {str(label): label for label in getattr(frame, "columns", ())}
    names = list(labels) if columns is None else list(columns)
    try:
        return pl.DataFrame({name: _series(name, frame[labels.get(name, name)]) for name in names})
    except KeyError as error:
        raise TreatyError(f"there is no column {error}") from error


def _without_objects(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame in which columns of Python objects are texts, cell by cell."""
    return frame.with_columns(
        column_of(name, frame[name].to_list())
        for name, kind in frame.schema.items()
        if isinstance(kind, pl.Object)
    )


def _series(name: str, values: Any) -> pl.Series:
    """Return a column; what pandas calls missing, in any of its ways, is missing.

    A column of objects is one of texts, cell by cell.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "OUSTM":
        return pl.Series(name, array)
    missing = values.isna().to_numpy() if hasattr(values, "isna") else np.zeros(len(array), bool)
    cells = [None if gone else value for value, gone in zip(array.tolist(), missing, strict=True)]
    if array.dtype.kind == "M":
        return pl.Series(name, array.astype("datetime64[us]"))
    return column_of(name, cells)
