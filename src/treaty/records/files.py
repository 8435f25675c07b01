"""Records in CSV, Parquet and Excel files, streamed in blocks."""

import hashlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path

import polars as pl
from polars.exceptions import PanicException, PolarsError

from treaty.errors import TreatyError
from treaty.records.cells import name_of
from treaty.records.dialect import Dialect, names_readable
from treaty.records.recognition import fault, repeated
from treaty.records.sheets import read_sheet
from treaty.records.sources import BLOCK, KINDS, SourceAt, first_line, nearest_file

TEXTS = (".csv", ".tsv", ".txt")
EVERY_CELL = pl.QueryOptFlags(projection_pushdown=False)
"""Of a text file all cells are read, or a line with too many of them would not be noticed."""
SHEETS = (".xlsx", ".xlsm", ".xls", ".ods")


class FileSource(SourceAt):
    """Records in one file, or the part of them that belongs to one owner.

    Cells of text files and workbooks are texts, and become numbers cell by cell, so that a bad one is
    answered with its row instead of a guess at the column's type.

    Args:
        path: a .csv, .tsv, .parquet or .xlsx file; book.xlsx#name is one sheet of several.
        by: the column that says whose record it is, if the file holds several owners'.
        owner: whose records to take.
        dialect: how a text file is written, as its owner has stated it; a treaty's then counts for
            nothing.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        by: str | None = None,
        owner: str | None = None,
        dialect: Dialect | None = None,
    ) -> None:
        name, _, self._sheet = str(path).partition("#") if "#" in str(path) else (path, "", "")
        super().__init__(path, by=by, owner=owner)
        with self._readable():
            if not self.path.is_file():
                self.path = Path(name)
            there = self.path.is_file()
        if not there:
            if self.path.is_dir():
                raise TreatyError(f"{self.path}: is a folder: give {KINDS}")
            raise TreatyError(
                f"{self.path}: there is no such file{nearest_file(self.path)}; give {KINDS}"
            )
        self._own = dialect
        self._table: pl.DataFrame | None = None
        self._sheet_read = ""
        self._dialect = dialect or Dialect()
        self._lines: pl.LazyFrame | None = None
        if not self._is_text or dialect is not None or names_readable(self.path):
            self._check()

    @property
    def _frame(self) -> pl.LazyFrame:
        """All records of the file."""
        if self._lines is None:
            with self._readable():
                self._lines = self._scan()
                self._lines.collect_schema()
        return self._lines

    @property
    def _mine(self) -> pl.LazyFrame:
        """The records of the owner."""
        if self._by is None:
            return self._frame
        return self._frame.filter(name_of(self._by, self.schema[self._by]) == self._owner)

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """The columns, and what they hold."""
        return self._frame.collect_schema()

    def _check(self) -> None:
        """Say at once if the file cannot be read, or does not say whose its records are."""
        there = self.schema
        if self._by is not None and self._by not in there:
            self.require([self._by])

    def _scan(self) -> pl.LazyFrame:
        suffix = self.path.suffix.lower()
        if suffix in TEXTS:
            return self._dialect.scan(self.path)
        if suffix in (".parquet", ".pq"):
            return pl.scan_parquet(self.path)
        if suffix in SHEETS:
            if self._table is None:
                self._table, self._sheet_read = read_sheet(self.path, self._sheet)
            return self._table.lazy()
        raise TreatyError(f"{self.path}: {KINDS} is needed, or a .toml file about a database")

    @property
    def _is_text(self) -> bool:
        return self.path.suffix.lower() in TEXTS

    def of_owner(self, by: str, owner: str) -> "FileSource":
        """Return the records of one owner."""
        mine = copy(self)
        mine._by, mine._owner = by, owner
        mine._check()
        return mine

    def stated(self, dialect: Dialect) -> "FileSource":
        """Return the same records, read as a treaty states how text files are written."""
        if self._own is not None or not self._is_text or dialect == self._dialect:
            return self
        other = copy(self)
        other._dialect, other._lines = dialect, None
        other._check()
        return other

    @property
    def has_types(self) -> bool:
        """Whether the file says what its columns hold: a text file and a workbook do not."""
        return self.path.suffix.lower() in (".parquet", ".pq")

    @property
    def names_in_rows(self) -> bool:
        """Whether the names of columns are its first row: so it is in text files and workbooks."""
        return not self.has_types

    @property
    def remark(self) -> str:
        """How the file was read, where that is not plain."""
        if not self._is_text:
            return self._sheet_read
        twice = [
            f"more than one column named {name}, of which the second is read as {name}_duplicated_0"
            for name in repeated(self.path, self._dialect)
        ]
        return ", ".join(filter(None, [self._dialect.words(), *twice]))

    def blocks(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Stream the given columns, in the order of the file."""
        self.require(columns)
        with self._readable():
            yield from self._mine.select(columns).collect_batches(
                chunk_size=BLOCK,
                maintain_order=True,
                lazy=True,
                optimizations=EVERY_CELL if self._is_text else pl.QueryOptFlags(),
            )

    @contextmanager
    def _readable(self) -> Generator[None]:
        """Say that a file cannot be read, where Polars fails on it; a damaged one may make it panic."""
        try:
            yield
        except (PolarsError, PanicException, OSError) as error:
            raise TreatyError(f"{self.path}: {self._why_not(error)}") from error

    def _why_not(self, error: BaseException) -> str:
        """Say in words why a file cannot be read, and what to do."""
        if isinstance(error, OSError):
            return f"cannot be read ({error.strerror or error})"
        kind = self.path.suffix.lower()
        if kind in TEXTS and self.path.is_file():
            return (
                fault(self.path, self._dialect)
                or f"cannot be read as a table of texts ({first_line(error)})"
            )
        return f"cannot be read ({first_line(error)}): is it a {kind} file, and whole?"

    def fingerprint(self, key: bytes) -> str:
        """Return a digest of the file, by which any change of it shows to whoever has the key.

        Without the key nobody can try values out on it.
        """
        digest = hashlib.blake2b(key=key, digest_size=32)
        if self._own is not None:  # what a record is depends on it
            digest.update(self._own.model_dump_json().encode())
        with self._readable(), self.path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        return digest.hexdigest()

    def state(self) -> object:
        """Return the file's time, size and place on the disk, which change with it."""
        try:
            there = self.path.stat()
        except OSError as error:
            raise TreatyError(f"{self.path}: there is no such file any more") from error
        return there.st_mtime_ns, there.st_size, there.st_ino

    def owners(self, by: str) -> dict[str, int]:
        """Return how many records each value of a column has: the owners of a shared file."""
        self.require([by])
        with self._readable():
            whose = name_of(by, self.schema[by]).alias(by)
            counted = self._mine.group_by(whose).len().sort(by).collect()
        return {str(name): int(count) for name, count in counted.iter_rows() if name is not None}
