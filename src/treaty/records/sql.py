"""Records from a database: PostgreSQL and SQLite through ADBC, as Arrow, streamed.

The owner's own file says where and what; the address with its password stays in the environment:

    kind = "postgresql"
    address = "RECORDS_URI"      # the environment variable that holds the address
    query = "SELECT age, stay FROM discharges ORDER BY id"
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, cast

import polars as pl

from treaty.errors import TreatyError
from treaty.plain import Plain, read_plain
from treaty.records.sources import Source, first_line


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


class SqlSource(Source):
    """The rows of a query, in the order the database gives them.

    Args:
        path: the owner's .toml file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._terms = read_plain(SqlTerms, self.path)
        with self._asked() as reader:
            self.schema = dict(_frame(reader.schema.empty_table()).schema)

    @property
    def label(self) -> str:
        """How to speak of it in a message."""
        return str(self.path)

    def blocks(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Stream the given columns, in the order of the query."""
        self.require(columns)
        with self._asked() as reader:
            for batch in self._batches(reader):
                yield batch.select(columns)

    def fingerprint(self, key: bytes) -> str:
        """Return a digest of all rows that does not depend on their order.

        Every row is hashed with the key before the hashes are added up: nobody without it can subtract
        the rows they know.
        """
        names = repr(list(self.schema)).encode()
        total = int.from_bytes(hashlib.blake2b(names, key=key, digest_size=32).digest())
        with self._asked() as reader:
            for batch in self._batches(reader):
                for row in batch.iter_rows():
                    digest = hashlib.blake2b(repr(row).encode(), key=key, digest_size=32).digest()
                    total = (total + int.from_bytes(digest)) % (1 << 256)
        return f"{total:064x}"

    def state(self) -> object:
        """What can be seen of a change without reading the rows: nothing."""
        return None

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
                "address of the database"
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


def open_source(path: str | Path) -> Source:
    """Return the records of a CSV or Parquet file, or of the database an owner's .toml tells of."""
    return SqlSource(path) if Path(path).suffix.lower() == ".toml" else Source(path)
