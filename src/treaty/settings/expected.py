"""What a treaty's model is expected to err by, out of sample and in the target's own unit."""

import math
from dataclasses import dataclass, replace

from treaty.arrays import FloatArray

FEWEST_SHARE = 0.5
"""What a model of fewer records than that share of the public rows lacks is not told by these."""
NORMAL = 1.645
"""Of a normal variable 90% lie within so many standard deviations."""


@dataclass(frozen=True, eq=False)
class Expected:
    """What a model is expected to cost on records that nobody has seen.

    Args:
        public: what the model of the public rows costs on each of these, made without it: squared
            errors in the target's unit, not clamped, or log loss.
        gain: by how much training together lowers the mean of that.
        labels: whether these are log losses.
        spread: the standard deviation of what the public model costs on a record, if it is known from
            more rows than these: in a few of them there may be none of the longest errors.
        excess: by how much the public model's mean loss lies above that of the best one.
        rows: of how many rows that model is; 0 if these do not tell about owners' own models.
    """

    public: FloatArray
    gain: float
    labels: bool
    spread: float = 0.0
    excess: float = 0.0
    rows: int = 0

    @property
    def loss(self) -> float:
        """The mean."""
        return float(self.public.mean()) - self.gain

    @property
    def error(self) -> float:
        """The error in the target's own unit, or log loss."""
        return self.loss if self.labels else math.sqrt(max(self.loss, 0.0))

    def worse_by(self, loss: float) -> float:
        """Return the error if the mean loss were larger by so much."""
        return replace(self, gain=self.gain - loss).error

    @property
    def interval(self) -> tuple[float, float]:
        """A 90% interval of that error: these are few rows."""
        spread = max(self.spread, float(self.public.std(ddof=1)))
        off = NORMAL * spread / math.sqrt(len(self.public))
        low, high = (max(self.loss + sign * off, 0.0) for sign in (-1, 1))
        return (low, high) if self.labels else (math.sqrt(low), math.sqrt(high))

    @property
    def public_error(self) -> float:
        """That of the public model."""
        mean = float(self.public.mean())
        return mean if self.labels else math.sqrt(mean)

    def alone(self, records: float) -> float | None:
        """Return the error of a model of so many records of one owner, if owners are all alike.

        What the public model lacks is chance in its rows, and goes as one over their number. None if
        the rows do not tell, or tell nothing of so few records.
        """
        if records < self.rows * FEWEST_SHARE or not self.rows:
            return None
        return replace(self, gain=self.excess * (1 - self.rows / records)).error

    def above(self, other: "Expected") -> tuple[float, float]:
        """Return by how much its loss lies above another's on the same rows, and the standard error."""
        apart = self.public - other.public
        error = float(apart.std(ddof=1)) / math.sqrt(len(apart))
        return self.loss - other.loss, error
