"""Whatever holds records, as a source of them."""

from pathlib import Path
from typing import Any, TypeAlias

from treaty.errors import TreatyError
from treaty.records.files import FileSource
from treaty.records.frames import FrameSource, is_frame
from treaty.records.sources import Source
from treaty.records.sql import SqlSource

SourceLike: TypeAlias = str | Path | Source | Any
"""A path of a CSV, Parquet or (about a database) TOML file, a Polars or pandas frame, or a source."""


def open_source(records: SourceLike, *, by: str | None = None, owner: str | None = None) -> Source:
    """Return where records come from.

    Args:
        records: a CSV or Parquet file, an owner's .toml file about a database, a Polars or pandas data
            frame, or a source of one's own.
        by: the column that says whose record it is, if there are several owners'.
        owner: whose records to take.
    """
    if isinstance(records, Source):
        source = records
    elif is_frame(records):
        source = FrameSource(records)
    elif isinstance(records, str | Path):
        database = Path(records).suffix.lower() == ".toml"
        source = SqlSource(records) if database else FileSource(records)
    else:
        raise TreatyError(
            f"records come from a file or a data frame, not from a {type(records).__name__}"
        )
    return source if by is None else source.of_owner(by, str(owner))
