"""Records from a database, streamed: PostgreSQL through ADBC, and SQLite.

PostgreSQL says what its columns hold. SQLite does not: every cell has a type of its own, so cells are
read one by one, as texts.

The owner's own file says where and what; the address with its password stays in the environment:

    kind = "postgresql"
    address = "RECORDS_URI"      # the environment variable that holds the address
    query = "SELECT age, stay FROM discharges ORDER BY id"
"""

import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, cast

import polars as pl

from treaty.errors import TreatyError
from treaty.plain import Plain, read_plain
from treaty.records.cells import column_of, name_of
from treaty.records.sources import BLOCK, KINDS, SourceAt, first_line


class SqlTerms(Plain):
    """What an owner's file says about a database.

    Args:
        kind: which database.
        address: the environment variable that holds its address.
        query: what to ask it; one row a record.
    """

    kind: Literal["postgresql", "sqlite"]
    address: str
    query: str


class SqlSource(SourceAt):
    """The rows of a query, in the order the database gives them.

    Args:
        path: the owner's .toml file.
        by: the column that says whose record it is, if the query gives several owners'.
        owner: whose records to take.
    """

    def __init__(
        self, path: str | Path, *, by: str | None = None, owner: str | None = None
    ) -> None:
        super().__init__(path, by=by, owner=owner)
        try:
            self._terms = read_plain(SqlTerms, self.path)
        except TreatyError as error:
            raise TreatyError(
                f"{error}; {KINDS} is needed, or a .toml file about a database"
            ) from error
        with self._asked() as answer:
            self._schema = answer.schema
        if by is not None:
            self.require([by])

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """The columns, and what they hold."""
        return self._schema

    @property
    def has_types(self) -> bool:
        """Whether the database says what its columns hold."""
        return self._terms.kind == "postgresql"

    def blocks(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Stream the given columns, in the order of the query."""
        self.require(columns)
        with self._asked() as answer:
            for batch in self._batches(answer):
                mine = batch
                if self._by is not None:
                    mine = batch.filter(name_of(self._by, self.schema[self._by]) == self._owner)
                yield mine.select(columns)

    def _batches(self, answer: "_Answer") -> Iterator[pl.DataFrame]:
        try:
            yield from answer.batches()
        except Exception as error:
            if isinstance(error, TreatyError):
                raise
            raise TreatyError(f"{self.path}: the query failed ({first_line(error)})") from error

    def _asked(self) -> "_Answer":
        address = os.environ.get(self._terms.address)
        if not address:
            raise TreatyError(
                f"{self.path}: the environment has no {self._terms.address}, which is to hold the "
                "address of the database: set it there, and leave it out of files"
            )
        kind = _Postgres if self._terms.kind == "postgresql" else _Sqlite
        return kind(self.path, self._terms, address)


class _Answer(ABC):
    """One connection, one query, closed at the end."""

    schema: Mapping[str, pl.DataType]

    def __init__(self, path: Path, terms: SqlTerms, address: str) -> None:
        self._path, self._terms, self._address = path, terms, address

    @abstractmethod
    def connect(self) -> Any:
        """Return a connection, as Python's databases have it."""

    @abstractmethod
    def begin(self, cursor: Any) -> None:
        """Look at the columns of what has been asked."""

    @abstractmethod
    def batches(self) -> Iterator[pl.DataFrame]:
        """Stream the rows."""

    def __enter__(self) -> "_Answer":
        try:
            self._connection = self.connect()
        except TreatyError:
            raise
        except Exception as error:
            # The driver's message may repeat the address, and with it a password.
            raise TreatyError(
                f"{self._path}: the database at {self._terms.address} cannot be reached "
                f"({type(error).__name__})"
            ) from None
        try:
            self._cursor = self._connection.cursor()
            self._cursor.execute(self._terms.query)
            self.begin(self._cursor)
            return self
        except Exception as error:
            self._connection.close()
            raise TreatyError(f"{self._path}: the query failed ({first_line(error)})") from error

    def __exit__(self, *_: object) -> None:
        self._cursor.close()
        self._connection.close()


class _Postgres(_Answer):
    """A query of PostgreSQL: its columns have types of their own."""

    def connect(self) -> Any:
        """Connect through ADBC."""
        try:
            driver = import_module("adbc_driver_postgresql.dbapi")
        except ImportError as error:
            raise TreatyError("databases need ADBC: pip install 'treaty[sql]'") from error
        return driver.connect(self._address)

    def begin(self, cursor: Any) -> None:
        """Take the types that the database gives."""
        self._reader = cursor.fetch_record_batch()
        self.schema = dict(_frame(self._reader.schema.empty_table()).schema)

    def batches(self) -> Iterator[pl.DataFrame]:
        """Stream Arrow's batches."""
        for batch in self._reader:
            yield _frame(batch)


class _Sqlite(_Answer):
    """A query of SQLite: every cell is a text, by itself."""

    def connect(self) -> Any:
        """Open the file, or the address as SQLite writes it."""
        address = self._address
        return sqlite3.connect(address, uri=address.startswith("file:"))

    def begin(self, cursor: Any) -> None:
        """Take the names."""
        self._names = [column[0] for column in cursor.description or ()]
        self.schema = {name: pl.String() for name in self._names}

    def batches(self) -> Iterator[pl.DataFrame]:
        """Stream rows, a block at a time."""
        while rows := self._cursor.fetchmany(BLOCK):
            columns = zip(self._names, zip(*rows, strict=True), strict=True)
            yield pl.DataFrame([column_of(name, cells) for name, cells in columns])


def _frame(batch: Any) -> pl.DataFrame:
    frame = cast(pl.DataFrame, pl.from_arrow(batch))
    decimals = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Decimal)]
    return frame.with_columns(pl.col(name).cast(pl.Float64) for name in decimals)
