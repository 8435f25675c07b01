"""What a source of records is: named columns, streamed in blocks, and a fingerprint."""

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from treaty.errors import TreatyError, nearest
from treaty.records.cells import name_of
from treaty.records.dialect import Dialect

KINDS = "a .csv, .tsv, .parquet or .xlsx file"
"""What records may be kept in."""
MOST_NAMES = 40
"""So many columns are listed in a message."""
BLOCK = 24_576
"""Rows read at once: three blocks of those that are added up at once."""


class Source(ABC):
    """Where records come from: a file, a database, a data frame."""

    @property
    @abstractmethod
    def schema(self) -> Mapping[str, pl.DataType]:
        """The columns, and what they hold."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the records are, for messages."""

    @property
    def label(self) -> str:
        """How to speak of these records in a message."""
        return self.place

    @property
    def rows_of(self) -> str:
        """Whose rows a row's number counts, as the beginning of a message about one."""
        return self.label

    @property
    def has_types(self) -> bool:
        """Whether the source says what its columns hold; a CSV file does not."""
        return True

    @property
    def names_in_rows(self) -> bool:
        """Whether the names of columns are its first row, which might be a record instead."""
        return False

    @property
    def remark(self) -> str:
        """How the records were read, where that is not plain; for people."""
        return ""

    @abstractmethod
    def blocks(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Stream the given columns, in an order of the source's own."""

    @abstractmethod
    def of_owner(self, by: str, owner: str) -> "Source":
        """Return the records of one owner: those in which the column `by` says so."""

    def stated(self, dialect: Dialect) -> "Source":
        """Return the same records, read as a treaty states how text files are written.

        That counts for text files whose owner has not stated it in a file of its own.
        """
        return self

    def require(self, columns: Sequence[str]) -> None:
        """Say which column is missing, if one is."""
        missing = [column for column in columns if column not in self.schema]
        if missing:
            raise TreatyError(f"{self.place}: {no_column(missing[0], list(self.schema))}")

    def owners(self, by: str) -> dict[str, int]:
        """Return how many records each value of a column has: the owners of shared records."""
        counted: Counter[str] = Counter()
        for block in self.blocks([by]):
            names = block.select(name_of(by, self.schema[by])).to_series().drop_nulls().to_list()
            counted.update(str(name) for name in names)
        return dict(sorted(counted.items()))

    def fingerprint(self, key: bytes) -> str:
        """Return a digest of all rows, by which any change of them shows to whoever has the key.

        It does not depend on the order of the rows. Each is hashed with the key before the hashes are
        added up: nobody without it can try values out, or subtract the rows they know.
        """
        names = repr(list(self.schema)).encode()
        total = int.from_bytes(hashlib.blake2b(names, key=key, digest_size=32).digest())
        for block in self.blocks(list(self.schema)):
            for row in block.iter_rows():
                digest = hashlib.blake2b(repr(row).encode(), key=key, digest_size=32).digest()
                total = (total + int.from_bytes(digest)) % (1 << 256)
        return f"{total:064x}"

    def state(self) -> object:
        """Return what changes with the records and costs nothing to look at, if there is anything."""
        return None


class SourceAt(Source):
    """A source that a path leads to, or the part of it that belongs to one owner.

    Args:
        path: where.
        by: the column that says whose record it is, if there are several owners'.
        owner: whose records to take.
    """

    def __init__(
        self, path: str | Path, *, by: str | None = None, owner: str | None = None
    ) -> None:
        self.path = Path(path)
        self._by = by
        self._owner = owner

    @property
    def place(self) -> str:
        """The path."""
        return str(self.path)

    @property
    def label(self) -> str:
        """How to speak of it in a message."""
        return str(self.path) if self._owner is None else f"{self._owner} in {self.path}"

    @property
    def rows_of(self) -> str:
        """How to speak of rows by their numbers."""
        alone = "" if self._owner is None else f", counting only the rows of {self._owner}"
        return self.label + alone

    def of_owner(self, by: str, owner: str) -> Source:
        """Return the records of one owner."""
        return type(self)(self.path, by=by, owner=owner)


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def named(column: str) -> str:
    """Return how to speak of a column; pandas writes an index without a name."""
    return column if column.strip() else "a column without a name"


def no_column(name: str, there: Sequence[str]) -> str:
    """Say that a column is missing, which one is nearest, and which there are."""
    meant = nearest(name, there)
    listed = ", ".join(named(column) for column in there[:MOST_NAMES]) + (
        ", …" if len(there) > MOST_NAMES else ""
    )
    return f'there is no column "{name}"{meant}; there are {listed}'


def nearest_file(path: Path) -> str:
    """Return which file beside a path may be meant, as the end of a sentence."""
    try:
        there = [each.name for each in path.parent.iterdir()]
    except OSError:
        return ""
    return nearest(path.name, there)
