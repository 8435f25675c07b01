"""Per-record gradient clipping that stays a convex loss."""

from typing import ClassVar

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.losses.base import Domain, Loss, Norm
from treaty.matrices import Matrix, absolute, euclidean, scores


class Clipped(Loss):
    """A loss whose gradient is clipped to ‖∇ℓ‖ ≤ C, record by record.

    For a loss of θᵀx the gradient is φ′(z)·x, so clipping limits φ′ to ±C/‖x‖. φ′ is monotone, a
    clipped monotone function is monotone, and so its integral is convex: outside the band where
    |φ′| ≤ C/‖x‖ the loss goes on as a straight line. Squared loss becomes a Huber loss.

    Where owners are asked along axes A alone, Aᵀ∇ℓ = φ′(z)·Aᵀx is what is clipped: φ′ is limited to
    ±C/‖Aᵀx‖, and the same holds.

    Args:
        loss: the loss to clip.
        limit: C > 0.
        norm: the norm in which the gradient is limited. Without one, it is the norm of whatever
            mechanism a plan adds noise with.
        axes: A, shape (p, k), if not the whole gradient is asked for.
    """

    name: ClassVar[str] = "clipped"

    def __init__(
        self,
        loss: Loss,
        limit: float,
        norm: Norm | None = None,
        axes: FloatArray | None = None,
    ) -> None:
        if not limit > 0:
            raise TreatyError(f"the clip must be positive, not {limit}")
        self.loss = loss
        self.limit = limit
        self.axes = axes
        self.follows_mechanism = norm is None
        self._norm: Norm | None = norm
        self.labels = loss.labels
        self.curvature_bound = loss.curvature_bound

    @property
    def norm(self) -> Norm:
        """The norm in which the gradient is limited."""
        if self._norm is None:
            raise TreatyError(
                "the norm of this clip is that of the mechanism: put it into a plan, or name a norm"
            )
        return self._norm

    def in_norm_of_mechanism(self, norm: Norm) -> "Clipped":
        """Return the same clip under a mechanism that takes the sensitivity in this norm."""
        if not self.follows_mechanism or norm == self._norm:
            return self
        other = Clipped(self.loss, self.limit, axes=self.axes)
        other._norm = norm
        return other

    def along(self, axes: FloatArray | None) -> "Clipped":
        """Return the same clip along other axes."""
        return self._other(self.loss, axes)

    def of(self, loss: Loss) -> "Clipped":
        """Return the same clip of another loss."""
        return self._other(loss, self.axes)

    def _other(self, loss: Loss, axes: FloatArray | None) -> "Clipped":
        other = Clipped(loss, self.limit, self._norm, axes)
        other.follows_mechanism = self.follows_mechanism
        return other

    def value(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Not defined without rows: use `on(x)`."""
        raise TreatyError("a clipped loss depends on the rows: call on(x) first")

    def slope(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Not defined without rows: use `on(x)`."""
        raise TreatyError("a clipped loss depends on the rows: call on(x) first")

    def slope_bound(self, score_bound: float, target: tuple[float, float]) -> float:
        """Return the unclipped bound: ‖x‖ may be small."""
        return self.loss.slope_bound(score_bound, target)

    def on(self, x: Matrix) -> Loss:
        """Return the loss of these rows, with the slope limited to ±C/‖x‖ row by row."""
        return self.limited(x, x if self.axes is None else scores(x, self.axes))

    def limited(self, x: Matrix, asked: Matrix) -> Loss:
        """Return the loss of these rows, with the slope limited to ±C/‖asked‖ row by row.

        Args:
            x: the rows.
            asked: what of them an answer is made of: x, or x along the axes.
        """
        size = absolute(asked) if self.norm == "l1" else euclidean(asked)
        least = 1e18 * np.finfo(size.dtype).tiny  # so that the limit of a record of zeros is finite
        return _SlopeLimited(self.loss.on(x), (self.limit / np.maximum(size, least))[:, None])

    def gradient_bound(self, domain: Domain, theta_max: float, norm: Norm) -> float:
        """Return the smaller of the unclipped bound and C, converted between norms; along axes C.

        ‖v‖₂ ≤ ‖v‖₁ ≤ √p‖v‖₂, p being how many numbers v has.
        """
        length = domain.dimension if self.axes is None else self.axes.shape[1]
        widened = self.limit * np.sqrt(length) if (self.norm, norm) == ("l2", "l1") else self.limit
        if self.axes is not None:
            return float(widened)
        return min(float(widened), self.loss.gradient_bound(domain, theta_max, norm))


class _SlopeLimited(Loss):
    """φ with its slope limited to ±c, one c a row; c has shape (rows, 1)."""

    name: ClassVar[str] = "slope limited"

    def __init__(self, loss: Loss, limit: FloatArray) -> None:
        self.loss = loss
        self.limit = limit
        self.curvature_bound = loss.curvature_bound

    def value(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return φ inside the band where |φ′| ≤ c, and its tangents of slope ±c outside."""
        finite = np.minimum(self.limit, 1e-8 * np.finfo(self.limit.dtype).max)
        low = self.loss.score_at_slope(-finite, target)
        high = self.loss.score_at_slope(finite, target)
        inside = np.clip(score, np.minimum(low, high), high)
        return self.loss.value(inside, target) + finite * np.abs(score - inside)

    def slope(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return φ′ limited to ±c; where φ′ is not a number, c."""
        # Where limits differ from row to row, this is far faster than np.clip. Where a slope is NaN,
        # fmin takes the limit: one record must not turn a whole sum into NaN.
        return np.maximum(np.fmin(self.loss.slope(score, target), self.limit), -self.limit)

    def slope_bound(self, score_bound: float, target: tuple[float, float]) -> float:
        """Return the unclipped bound."""
        return self.loss.slope_bound(score_bound, target)

    def curvature(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return φ″ inside the band and 0 outside."""
        inside = np.abs(self.loss.slope(score, target)) <= self.limit
        return np.where(inside, self.loss.curvature(score, target), 0.0)
