"""Records in CSV and Parquet files, streamed in blocks."""

import hashlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl
from polars.exceptions import PanicException, PolarsError

from treaty.errors import TreatyError
from treaty.records.sources import BLOCK, SourceAt, first_line

_ABSENT = ["", "NA", "NaN", "nan", "null", "NULL", "None"]


class FileSource(SourceAt):
    """Records in one file, or the part of them that belongs to one owner.

    CSV cells are read as text and turned into numbers column by column, so that a bad cell is
    answered with its row instead of a guess at the column's type.

    Args:
        path: a .csv or .parquet file.
        by: the column that says whose record it is, if the file holds several owners'.
        owner: whose records to take.
    """

    def __init__(
        self, path: str | Path, *, by: str | None = None, owner: str | None = None
    ) -> None:
        super().__init__(path, by=by, owner=owner)
        with self._readable():
            there = self.path.is_file()
        if not there:
            raise TreatyError(f"{self.path}: there is no such file")
        suffix = self.path.suffix.lower()
        if suffix == ".csv":
            frame = pl.scan_csv(self.path, infer_schema=False, null_values=_ABSENT)
        elif suffix in (".parquet", ".pq"):
            frame = pl.scan_parquet(self.path)
        else:
            raise TreatyError(f"{self.path}: a .csv or a .parquet file is needed")
        self._frame = frame
        with self._readable():
            self.schema = dict(frame.collect_schema())
        if by is not None:
            self.require([by])
            self._frame = frame.filter(pl.col(by).cast(pl.String) == owner)

    @property
    def has_types(self) -> bool:
        """Whether the file says what its columns hold; a CSV file does not."""
        return self.path.suffix.lower() != ".csv"

    def blocks(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Stream the given columns, in the order of the file."""
        self.require(columns)
        with self._readable():
            yield from self._frame.select(columns).collect_batches(
                chunk_size=BLOCK, maintain_order=True, lazy=True
            )

    @contextmanager
    def _readable(self) -> Generator[None]:
        """Say that a file cannot be read, where Polars fails on it; a damaged one may make it panic."""
        try:
            yield
        except (PolarsError, PanicException, OSError) as error:
            raise TreatyError(f"{self.path}: cannot be read ({first_line(error)})") from error

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
