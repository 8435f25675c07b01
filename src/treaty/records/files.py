"""Records in CSV, Parquet and Excel files, streamed in blocks."""

import hashlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from polars.exceptions import PanicException, PolarsError

from treaty.errors import TreatyError
from treaty.records.delimited import fault, recognise
from treaty.records.sheets import read_sheet
from treaty.records.sources import BLOCK, KINDS, SourceAt, first_line, nearest_file

TEXTS = (".csv", ".tsv", ".txt")
EVERY_CELL = pl.QueryOptFlags(projection_pushdown=False)
"""Of a text file all cells are read, or a line with too many of them would not be noticed."""
SHEETS = (".xlsx", ".xlsm", ".xls", ".ods")


@dataclass(frozen=True, eq=False)
class Table:
    """What a file holds.

    Args:
        frame: the rows.
        has_types: whether the file says what its columns hold; a text file does not.
        remark: how it was read, where that is not plain; for people.
    """

    frame: pl.LazyFrame
    has_types: bool
    remark: str = ""


class FileSource(SourceAt):
    """Records in one file, or the part of them that belongs to one owner.

    CSV cells are read as text and turned into numbers column by column, so that a bad cell is
    answered with its row instead of a guess at the column's type.

    Args:
        path: a .csv, .tsv, .parquet or .xlsx file; book.xlsx#name is one sheet of several.
        by: the column that says whose record it is, if the file holds several owners'.
        owner: whose records to take.
        table: what it holds, if that has been read already.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        by: str | None = None,
        owner: str | None = None,
        table: Table | None = None,
    ) -> None:
        name, _, self._sheet = str(path).partition("#") if "#" in str(path) else (path, "", "")
        super().__init__(path if Path(path).is_file() else name, by=by, owner=owner)
        with self._readable():
            there = self.path.is_file()
        if not there:
            if self.path.is_dir():
                raise TreatyError(f"{self.path}: is a folder: give {KINDS}")
            raise TreatyError(
                f"{self.path}: there is no such file{nearest_file(self.path)}; give {KINDS}"
            )
        with self._readable():
            self._table = table or self._read()
            frame = self._table.frame
            self.schema = dict(frame.collect_schema())
        self._frame = frame
        if by is not None:
            self.require([by])
            self._frame = frame.filter(pl.col(by).cast(pl.String) == owner)

    def _read(self) -> Table:
        suffix = self.path.suffix.lower()
        if suffix in TEXTS:
            writing = recognise(self.path)
            return Table(writing.scan(self.path), has_types=False, remark=writing.words())
        if suffix in (".parquet", ".pq"):
            return Table(pl.scan_parquet(self.path), has_types=True)
        if suffix in SHEETS:
            frame, remark = read_sheet(self.path, self._sheet)
            return Table(frame.lazy(), has_types=True, remark=remark)
        raise TreatyError(f"{self.path}: {KINDS} is needed, or a .toml file about a database")

    def of_owner(self, by: str, owner: str) -> "FileSource":
        """Return the records of one owner."""
        return FileSource(self.path, by=by, owner=owner, table=self._table)

    @property
    def has_types(self) -> bool:
        """Whether the file says what its columns hold; a CSV file does not."""
        return self._table.has_types

    @property
    def remark(self) -> str:
        """How the file was read, where that is not plain."""
        return self._table.remark

    def blocks(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Stream the given columns, in the order of the file."""
        self.require(columns)
        with self._readable():
            yield from self._frame.select(columns).collect_batches(
                chunk_size=BLOCK,
                maintain_order=True,
                lazy=True,
                optimizations=pl.QueryOptFlags() if self.has_types else EVERY_CELL,
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
            return fault(self.path) or f"cannot be read as a table of texts ({first_line(error)})"
        return f"cannot be read ({first_line(error)}): is it a {kind} file, and whole?"

    def fingerprint(self, key: bytes) -> str:
        """Return a digest of the file, by which any change of it shows to whoever has the key.

        Without the key nobody can try values out on it.
        """
        digest = hashlib.blake2b(key=key, digest_size=32)
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
            counted = self._frame.group_by(pl.col(by).cast(pl.String)).len().sort(by).collect()
        return {str(name): int(count) for name, count in counted.iter_rows() if name is not None}
