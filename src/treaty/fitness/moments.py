"""Sufficient statistics: all that squared loss ever needs to know of the records."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError

BLOCK_ROWS = 8192
"""Rows summed at once. Sums of block sums keep rounding far below a sensitivity; see
`treaty.privacy.sensitivity`."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Means over n records: XᵀX/n, Xᵀy/n and yᵀy/n.

    With them the mean squared loss at θ is θᵀAθ − 2bᵀθ + c and its gradient 2(Aθ − b): O(p²)
    whatever n is.
    """

    n: int
    xx: FloatArray
    xy: FloatArray
    yy: float

    @classmethod
    def of(cls, blocks: Iterable[tuple[FloatArray, FloatArray]]) -> "Moments":
        """Add up blocks of rows (x, y), which may be streamed."""
        n, total = 0, None
        for x, y in blocks:
            for start in range(0, len(y), BLOCK_ROWS):
                rows = np.column_stack(
                    [x[start : start + BLOCK_ROWS], y[start : start + BLOCK_ROWS]]
                )
                square = rows.T @ rows
                total = square if total is None else total + square
                n += len(rows)
        if total is None or n == 0:
            raise TreatyError("there are no records to add up")
        total = total / n
        return cls(n, total[:-1, :-1].copy(), total[:-1, -1].copy(), float(total[-1, -1]))
