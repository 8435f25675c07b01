"""What a treaty's model is expected to err by, out of sample and in the target's own unit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treaty.arrays import FloatArray

FEWEST_SHARE = 0.5
"""What a model of fewer records than that share of the public rows lacks is not told by these."""
RESAMPLES = 200
"""So often rows are drawn anew to see what choosing by them is worth."""
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
        optimism: by how much the mean is too low because the lowest of several was chosen on these rows.
        excess: by how much the public model's mean loss lies above that of the best one.
        rows: of how many rows that model is; 0 if these do not tell about owners' own models.
    """

    public: FloatArray
    gain: float
    labels: bool
    optimism: float = 0.0
    excess: float = 0.0
    rows: int = 0

    @property
    def loss(self) -> float:
        """The mean."""
        return float(self.public.mean()) + self.optimism - self.gain

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
        spread = float(self.public.std(ddof=1))
        off = NORMAL * spread / math.sqrt(len(self.public))
        low, high = (max(self.loss + sign * off, 0.0) for sign in (-1, 1))
        return (low, high) if self.labels else (math.sqrt(low), math.sqrt(high))

    @property
    def public_error(self) -> float:
        """That of the public model."""
        mean = float(self.public.mean()) + self.optimism
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


def optimism_of(chosen: Expected, tried: Sequence[Expected], seed: int) -> float:
    """Return by how much the lowest of several expected losses is too low for having been chosen.

    Each resample of the rows chooses the lowest by its own rows. What that costs elsewhere, more than
    what was chosen costs on the same rows, less what it costs more on the resample, is optimism.
    Elsewhere is all rows and the rows that the resample left out, in equal parts: where all are
    as good, a resample varies as much once more as the rows do, and the first of these tells √½ of it,
    the second √2.

    Args:
        chosen: what was chosen.
        tried: all that it was chosen from, on the same rows.
        seed: of the resamples.

    References:
        Efron: Estimating the error rate of a prediction rule, 1983.
        Tsamardinos, Greasidou, Borboudakis: Bootstrapping the out-of-sample predictions for efficient
        and accurate cross-validation, 2018.
    """
    if len(tried) < 2:
        return 0.0
    beside = chosen.public - chosen.gain
    apart = np.array([each.public - each.gain - beside for each in tried])
    rows = apart.shape[1]
    random = np.random.default_rng(seed)
    found: list[float] = []
    for _ in range(RESAMPLES):
        drawn = random.multinomial(rows, np.full(rows, 1.0 / rows))
        inside = apart @ drawn / rows
        picked = int(inside.argmin())
        elsewhere = 0.5 * (apart[picked].mean() + apart[picked][drawn == 0].mean())
        found.append(float(elsewhere - inside[picked]))
    return max(0.0, float(np.mean(found)))
