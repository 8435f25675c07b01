"""Records from a database: PostgreSQL and SQLite through ADBC, as Arrow, streamed.

The owner's own file says where and what; the address with its password stays in the environment:

    kind = "postgresql"
    address = "RECORDS_URI"      # the environment variable that holds the address
    query = "SELECT age, stay FROM discharges ORDER BY id"
"""

import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, cast

import polars as pl

from treaty.errors import TreatyError
from treaty.plain import Plain, read_plain
from treaty.records.sources import KINDS, SourceAt, first_line


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
        with self._asked() as reader:
            self.schema = dict(_frame(reader.schema.empty_table()).schema)
        if by is not None:
            self.require([by])

    def blocks(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Stream the given columns, in the order of the query."""
        self.require(columns)
        with self._asked() as reader:
            for batch in self._batches(reader):
                mine = batch
                if self._by is not None:
                    mine = batch.filter(pl.col(self._by).cast(pl.String) == self._owner)
                yield mine.select(columns)

    def _batches(self, reader: Any) -> Iterator[pl.DataFrame]:
        try:
            for batch in reader:
                yield _frame(batch)
        except Exception as error:
            if isinstance(error, TreatyError):
                raise
            raise TreatyError(f"{self.path}: the query failed ({first_line(error)})") from error

    def _asked(self) -> "_Asked":
        address = os.environ.get(self._terms.address)
        if not address:
            raise TreatyError(
                f"{self.path}: the environment has no {self._terms.address}, which is to hold the "
                "address of the database: set it there, and leave it out of files"
            )
        return _Asked(self.path, self._terms, address)


class _Asked:
    """One connection, one query, closed at the end."""

    def __init__(self, path: Path, terms: SqlTerms, address: str) -> None:
        self._path, self._terms, self._address = path, terms, address

    def __enter__(self) -> Any:
        try:
            driver = import_module(f"adbc_driver_{self._terms.kind}.dbapi")
        except ImportError as error:
            raise TreatyError("databases need ADBC: pip install 'treaty[sql]'") from error
        try:
            self._connection = driver.connect(self._address)
        except Exception as error:
            # The driver's message may repeat the address, and with it a password.
            raise TreatyError(
                f"{self._path}: the database at {self._terms.address} cannot be reached "
                f"({type(error).__name__})"
            ) from None
        try:
            self._cursor = self._connection.cursor()
            self._cursor.execute(self._terms.query)
            return self._cursor.fetch_record_batch()
        except Exception as error:
            self._connection.close()
            raise TreatyError(f"{self._path}: the query failed ({first_line(error)})") from error

    def __exit__(self, *_: object) -> None:
        self._cursor.close()
        self._connection.close()


def _frame(batch: Any) -> pl.DataFrame:
    frame = cast(pl.DataFrame, pl.from_arrow(batch))
    decimals = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Decimal)]
    return frame.with_columns(pl.col(name).cast(pl.Float64) for name in decimals)
