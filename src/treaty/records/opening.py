"""Whatever holds records, as a source of them."""

from pathlib import Path
from typing import Any, Literal, TypeAlias

import tomli_w

from treaty.errors import TreatyError
from treaty.plain import Plain, read_plain, read_toml
from treaty.records.dialect import Dialect
from treaty.records.files import TEXTS, FileSource
from treaty.records.frames import FrameSource, is_frame
from treaty.records.recognition import recognise
from treaty.records.sources import Source
from treaty.records.sql import SqlSource

SourceLike: TypeAlias = str | Path | Source | Any
"""A path of a CSV, Parquet, Excel or an owner's TOML file, a Polars or pandas frame, or a source."""


class TextFile(Plain):
    """What an owner's source file says about a text file.

    Args:
        kind: a text file.
        file: where it is, beside the source file or as a whole path.
        dialect: how it is written.
    """

    kind: Literal["text"]
    file: str
    dialect: Dialect = Dialect()


def open_source(
    records: SourceLike,
    *,
    by: str | None = None,
    owner: str | None = None,
    dialect: Dialect | None = None,
) -> Source:
    """Return where records come from.

    Args:
        records: a CSV, Parquet or Excel file, an owner's .toml file about a text file or a database, a
            Polars or pandas data frame, or a source of one's own.
        by: the column that says whose record it is, if there are several owners'.
        owner: whose records to take.
        dialect: how text files are written, where their owner has not stated it; a treaty says so.
    """
    if isinstance(records, Source):
        source = records
    elif is_frame(records):
        source = FrameSource(records)
    elif isinstance(records, str | Path):
        source = _at(Path(records)) if str(records).endswith(".toml") else FileSource(records)
    else:
        raise TreatyError(
            f"records come from a file or a data frame, not from a {type(records).__name__}"
        )
    source = source if dialect is None else source.stated(dialect)
    return source if by is None else source.of_owner(by, str(owner))


def _at(path: Path) -> Source:
    """Return what an owner's source file names."""
    if read_toml(path).get("kind") != "text":
        return SqlSource(path)
    terms = read_plain(TextFile, path)
    return FileSource(path.parent / terms.file, dialect=terms.dialect)


def proposed_dialect(records: SourceLike) -> Dialect:
    """Return how records seem to be written, to be looked at by whoever holds them."""
    if isinstance(records, str | Path) and Path(records).suffix.lower() in TEXTS:
        if not Path(records).is_file():
            FileSource(records)  # says that there is none
        return recognise(Path(records))
    return Dialect()


def source_text(path: Path, dialect: Dialect) -> str:
    """Return an owner's source file about a text file."""
    return tomli_w.dumps(
        {
            "kind": "text",
            "file": str(path),
            "dialect": dialect.model_dump(mode="python", exclude_none=True),
        }
    )
