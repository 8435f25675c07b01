"""What it costs a model to be a little off: the geometry around the best one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treaty.arrays import FloatArray
from treaty.fitness import Problem, Risk, curvature_of


@dataclass(frozen=True, eq=False)
class CostGeometry:
    """What being off costs around a model.

    Args:
        curvature: H, the Hessian of f there.
        root: H^(−½): a pull g costs ½‖rootᵀg‖².
        spectrum: the eigenvalues of rootᵀ G root, G the covariance of one record's gradient.
        spread: root times a square root of rootᵀ G root.
    """

    curvature: FloatArray
    root: FloatArray
    spectrum: FloatArray
    spread: FloatArray

    @property
    def sampling(self) -> float:
        """½ tr(H⁻¹G); divided by n, the expected excess of f of a model fitted on n records."""
        return 0.5 * float(self.spectrum.sum())

    def pull(self, gradient: FloatArray) -> FloatArray:
        """Return H^(−½)g; half its squared norm is the excess of f where the gradient is off by g."""
        return self.root.T @ gradient


def costs_around(
    problem: Problem, theta: FloatArray, parts: Sequence[tuple[Risk, float]]
) -> CostGeometry:
    """Return the geometry around a model, of weighted sets of rows."""
    hessian = problem.ridge * np.eye(problem.dimension)
    covariance = np.zeros_like(hessian)
    for risk, share in parts:
        mean = risk.gradient(theta)
        hessian += share * curvature_of(problem, risk, theta)
        covariance += share * (risk.gradient_covariance(theta) - np.outer(mean, mean))
    values, vectors = np.linalg.eigh(hessian)
    root = vectors / np.sqrt(np.maximum(values, 1e-8 * values[-1]))
    spectrum, axes = np.linalg.eigh(root.T @ covariance @ root)
    spectrum = np.maximum(spectrum, 0.0)
    return CostGeometry(hessian, root, spectrum, root @ (axes * np.sqrt(spectrum)))


def median_over_mean(spectrum: FloatArray) -> float:
    """Return the median of Σ λ_j z_j² over its mean, as Wilson and Hilferty approximate it.

    Squares of normal z_j are meant; Σ λ_j z_j² is taken for a χ² of as many degrees of freedom as have
    its variance.
    """
    number = float(spectrum.sum() ** 2 / max(float(spectrum @ spectrum), 1e-300))
    return (1 - 2 / (9 * max(number, 1.0))) ** 3
