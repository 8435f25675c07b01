"""Encoded rows are kept: in memory, or past a limit in an unnamed temporary file."""

import tempfile
from collections.abc import Iterator
from typing import IO, Any, cast

import numpy as np
from scipy import sparse

from treaty.arrays import FloatArray
from treaty.matrices import Matrix, Sparse

IN_MEMORY = 1 << 30
"""Bytes of encoded rows kept in memory; more go to an unnamed temporary file."""
FEW = 0.25
"""Rows with at most this share of numbers that are not 0 are kept sparse."""

Blocks = Iterator[tuple[FloatArray, FloatArray]]


def keep_dense(blocks: Blocks, width: int) -> tuple[Matrix, FloatArray]:
    """Keep streamed rows (x, y) as they are."""
    numbers, targets = _Pile(np.float64), _Pile(np.float64)
    for x, y in blocks:
        numbers.add(np.ascontiguousarray(x))
        targets.add(y)
    return numbers.whole().reshape(-1, width), targets.whole()


def keep_sparse(blocks: Blocks, width: int) -> tuple[Matrix, FloatArray]:
    """Keep streamed rows (x, y) without the zeros of x."""
    numbers, columns, targets = _Pile(np.float64), _Pile(np.int32), _Pile(np.float64)
    ends = [np.zeros(1, np.int64)]
    for x, y in blocks:
        part = sparse.csr_array(x)
        numbers.add(part.data)
        columns.add(part.indices)
        targets.add(y)
        ends.append(ends[-1][-1] + part.indptr[1:].astype(np.int64))
    y = targets.whole()
    starts = np.concatenate(ends)
    if starts[-1] <= np.iinfo(np.int32).max:  # else columns would be copied to the wider kind
        starts = starts.astype(np.int32)
    whole = numbers.whole(), columns.whole(), starts
    return cast(Sparse, sparse.csr_array(whole, shape=(len(y), width))), y


class _Pile:
    """Numbers one after the other."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._kind = np.dtype(kind)
        self._parts: list[np.ndarray[Any, Any]] = []
        self._held = self._written = 0
        self._spool: IO[bytes] | None = None

    def add(self, part: np.ndarray[Any, Any]) -> None:
        """Put numbers on the pile."""
        self._parts.append(part.astype(self._kind, copy=False))
        self._held += self._parts[-1].nbytes
        if self._held > IN_MEMORY:
            self._write()

    def _write(self) -> None:
        if self._spool is None:
            self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - closed when all is mapped
        for part in self._parts:
            self._spool.write(part.data)
        self._written += self._held
        self._parts, self._held = [], 0

    def whole(self) -> np.ndarray[Any, Any]:
        """Return all numbers as one array, of one dimension."""
        if self._spool is None:
            flat = [part.reshape(-1) for part in self._parts]
            return np.concatenate(flat) if flat else np.empty(0, self._kind)
        with self._spool as spool:
            self._write()
            spool.flush()
            # The map keeps the file alive after it is closed here; nobody else can open it.
            return np.memmap(spool, self._kind, "r", shape=(self._written // self._kind.itemsize,))
