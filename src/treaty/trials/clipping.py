"""Clipped gradients of any number of records, simulated on a few rows."""

import numpy as np

from treaty.arrays import FloatArray
from treaty.fitness import MomentRisk, Moments, PooledRisk, Risk, RowRisk
from treaty.losses import Clipped, Loss


def gradient_sizes(loss: Loss, x: FloatArray, y: FloatArray, theta: FloatArray) -> FloatArray:
    """Return ‖∇ℓ‖₁ of every row at a model: a clip is chosen among them, on public rows."""
    slope = loss.slope((x @ theta)[:, None], y[:, None])[:, 0]
    return np.abs(slope) * np.abs(x).sum(axis=1)


class ClippedAtAnySize:
    """Records with clipped gradients, at the price of a few rows.

    A clipped squared loss has no sufficient statistics, so a subsample replaces the records. A linear
    term makes its clipped gradient at `centre` equal to that of the records it replaces.

    Args:
        loss: the clipped loss.
        few: the rows.
        centre: that model.
    """

    def __init__(self, loss: Clipped, few: RowRisk, centre: FloatArray) -> None:
        self._few = RowRisk(loss, few.x, few.y).in_single_precision()
        self._centre = centre
        self._theirs = self._few.gradient(centre)

    def of(self, gradient: FloatArray) -> Risk:
        """Return records whose clipped gradient at the centre is this."""
        p = len(self._centre)
        tilt = Moments(self._few.n, np.zeros((p, p)), -0.5 * (gradient - self._theirs), 0.0)
        return PooledRisk([self._few, MomentRisk(tilt)], [1.0, 1.0])
