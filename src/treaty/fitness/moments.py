"""Sufficient statistics: all that squared loss ever needs to know of the records."""

from collections.abc import Iterable
from dataclasses import dataclass

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness.summation import in_blocks
from treaty.matrices import Matrix, gram, summed


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
    def of(cls, blocks: Iterable[tuple[Matrix, FloatArray]]) -> "Moments":
        """Add up blocks of rows (x, y), which may be streamed."""
        n, yy = 0, 0.0
        xx: FloatArray | None = None
        xy: FloatArray | None = None
        for x, y in in_blocks(blocks):
            xx = gram(x) if xx is None else xx + gram(x)
            xy = summed(y, x) if xy is None else xy + summed(y, x)
            yy += float(y @ y)
            n += len(y)
        if xx is None or xy is None:
            raise TreatyError("there are no records to add up")
        return cls(n, xx / n, xy / n, yy / n)
