"""Axes: along which few directions a gradient is worth its noise."""

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness.threads import on_one_thread
from treaty.learners.public_view import PublicView

STEADY = 1e-12
"""So much of the mean curvature is added, so that a direction that no row has can be divided by."""


def axes_of(view: PublicView, ridge: float, count: int) -> FloatArray:
    """Return the directions along which the public model may be off most, shape (p, count).

    Being off by d costs ½dᵀHd, and d has covariance Σ. With LLᵀ = H, Lᵀd is a move whose cost is half
    its squared length; LᵀΣL, its covariance, has eigenvectors Q, and those of the largest eigenvalues
    hold most of the expected cost ½tr(HΣ). Along A = L⁻ᵀQ a mean gradient Hd is AᵀHd = QᵀLᵀd: that very
    move. AᵀHA is the identity, so that the same noise along every axis is as harmful along each.

    Args:
        view: what public rows tell.
        ridge: λ, which being off costs as well.
        count: k, how many; fewer than p.
    """
    p = len(view.whole)
    if not 1 <= count < p:
        raise TreatyError(
            f"training.axes: answers have {p} numbers, so that at most {p - 1} axes make them fewer, "
            f"not {count}: leave axes out to ask for all of them"
        )
    with on_one_thread():
        cost = view.whole + ridge * np.eye(p)
        cost += STEADY * (float(np.trace(cost)) / p + STEADY) * np.eye(p)
        root = np.linalg.cholesky(cost)
        values, vectors = np.linalg.eigh(root.T @ view.covariance @ root)
        chosen = vectors[:, np.argsort(-values, kind="stable")[:count]]
        axes = np.linalg.solve(root.T, chosen)
    largest = np.abs(axes).argmax(axis=0)
    return np.asarray(axes * np.sign(axes[largest, np.arange(count)]), dtype=np.float64)
