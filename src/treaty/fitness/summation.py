"""How sums over records are added up: in blocks, so that rounding stays far below a sensitivity."""

from collections.abc import Iterable, Iterator

import numpy as np

from treaty.arrays import FloatArray
from treaty.fitness.threads import MOST_THREADS
from treaty.matrices import Matrix, stacked

BLOCK_ROWS = 8192
"""Rows that are added up at once; then the sums of blocks are."""


def additions(records: int) -> float:
    """Return how many additions in a row a sum over so many records takes at most.

    Rows of a block, then sums of blocks, then sums of threads. Every thread's share of the rows may end
    with a block that is not full.
    """
    return min(records, BLOCK_ROWS) + records / BLOCK_ROWS + 2 * MOST_THREADS


def in_blocks(
    parts: Iterable[tuple[Matrix, FloatArray]],
) -> Iterator[tuple[Matrix, FloatArray]]:
    """Cut and join streamed rows (x, y), in whatever portions they come, into blocks of full size."""
    waiting: list[tuple[Matrix, FloatArray]] = []
    rows = 0
    for x, y in parts:
        start = 0
        while start < len(y):
            taken = slice(start, start + BLOCK_ROWS - rows)
            waiting.append((x[taken], y[taken]))
            rows += len(waiting[-1][1])
            start = taken.stop
            if rows == BLOCK_ROWS:
                yield _joined(waiting)
                waiting, rows = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[tuple[Matrix, FloatArray]]) -> tuple[Matrix, FloatArray]:
    if len(parts) == 1:
        return parts[0]
    return stacked([x for x, _ in parts]), np.concatenate([y for _, y in parts])
