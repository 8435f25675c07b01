"""What answers at several models show about the curvature: a check on what few public rows tell."""

from collections.abc import Sequence

import numpy as np

from treaty.arrays import FloatArray
from treaty.learners.public_view import PublicView

LIKELIER = 1e3
"""Public rows are believed, unless another size of their error is so many times likelier."""
TIMES = np.geomspace(1.0, 1e4, 33)
"""How many times as large the variance of the error may be."""
NONE = 1e-9
"""A variance that is so small a part of the largest one is none."""


class Secants:
    """Compares what two answers differ by with what public rows say that they should.

    Args:
        view: what public rows tell.
        axes: A, along which answers are given, shape (p, k).
        noise: the variance of the noise in each number of an answer.
        known_from: see `PublicView.bending`.
    """

    def __init__(
        self, view: PublicView, axes: FloatArray, noise: float, known_from: float | None
    ) -> None:
        self._bends, self._noise = axes.T @ view.bends, noise
        self._metric = view.whole / (known_from or view.rows)
        sizes, self._vectors = np.linalg.eigh(axes.T @ view.wide @ axes)
        self._sizes = np.maximum(sizes, 0.0)

    def contradiction(
        self, asked: Sequence[FloatArray], told: Sequence[FloatArray]
    ) -> FloatArray | None:
        """Return E, what the curvature is more than H, if answers contradict H; None if they do not.

        Two answers differ by (H + E)s and by noise, s being the step between the models that they were
        given at. By public rows Es has covariance (sᵀH₁s/m)W, as in `PublicView.bending`. If it is far
        likelier that this is τ times as large, with the likeliest τ, the curvature is not what public
        rows say: a column that is next to nothing in all of them may be large for others, and step after
        step would go too far. E is then what regression on the steps makes of it, along each eigenvector
        of W with τ times its eigenvalue as what was believed before.

        Args:
            asked: two models or more, each of shape (p,).
            told: the answers there, each of shape (k,).
        """
        steps = np.diff(np.asarray(asked), axis=0)
        found = np.diff(np.asarray(told), axis=0) - steps @ self._bends.T
        # Differences that have an answer in common have its noise in common as well.
        rounds = len(steps)
        shared = 2.0 * np.eye(rounds) - np.eye(rounds, k=1) - np.eye(rounds, k=-1)
        root = np.linalg.cholesky(shared)
        steps, found = np.linalg.solve(root, steps), np.linalg.solve(root, found)
        lengths, turn = np.linalg.eigh(steps @ self._metric @ steps.T)
        steps, found = turn.T @ steps, turn.T @ found @ self._vectors
        expected = np.outer(np.maximum(lengths, 0.0), self._sizes)
        variances = TIMES[:, None, None] * expected + self._noise + NONE * float(expected.max())
        if not variances.all():
            return None
        unlikely = np.sum(np.log(variances) + found**2 / variances, axis=(1, 2))
        likeliest = int(unlikely.argmin())
        if unlikely[0] - unlikely[likeliest] < 2 * np.log(LIKELIER):
            return None
        shown = TIMES[likeliest] * self._sizes * found / variances[likeliest]
        return np.asarray(self._vectors @ shown.T @ steps @ self._metric, dtype=np.float64)
