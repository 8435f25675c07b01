"""Matrices of features, one row a record: dense, or sparse where most numbers are 0."""

from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np
from scipy import sparse

from treaty.arrays import FloatArray

Sparse: TypeAlias = sparse.csr_array[np.float64, tuple[int, int]]
Matrix: TypeAlias = FloatArray | Sparse


def scores(x: Matrix, models: FloatArray) -> FloatArray:
    """Return θᵀx of every record for models that are the columns of a matrix."""
    return np.asarray(x @ models)


def summed(weights: FloatArray, x: Matrix) -> FloatArray:
    """Return Σ wᵢxᵢ over the records, for every row of weights."""
    return np.asarray(weights @ x)


def gram(x: Matrix, weights: FloatArray | None = None) -> FloatArray:
    """Return Σ wᵢxᵢxᵢᵀ over the records; every weight is 1 if none are given."""
    if isinstance(x, np.ndarray):
        return x.T @ (x if weights is None else weights[:, None] * x)
    weighted = x if weights is None else sparse.diags_array(weights) @ x
    return np.asarray((x.T @ weighted).toarray())


def absolute(x: Matrix) -> FloatArray:
    """Return ‖x‖₁ of every record."""
    return np.asarray(abs(x).sum(axis=1))


def euclidean(x: Matrix) -> FloatArray:
    """Return ‖x‖₂ of every record; where squares would vanish, an upper bound of it."""
    if isinstance(x, np.ndarray):
        squares = np.einsum("ij,ij->i", x, x)
    else:
        squares = np.asarray((x * x).sum(axis=1))
    size = np.sqrt(squares)
    if len(size) and size.min() < 1e-100:
        tiny = np.flatnonzero(size < 1e-100)
        size[tiny] = absolute(x[tiny])
    return size


def filled(x: Matrix) -> FloatArray:
    """Return which share of the rows has another number than 0, of each column."""
    there = cast(FloatArray, (x != 0).sum(axis=0))  # pyright: ignore[reportAttributeAccessIssue]
    return np.asarray(there, dtype=float).ravel() / x.shape[0]


def stacked(parts: Sequence[Matrix]) -> Matrix:
    """Return the records of several matrices of one kind, one after the other."""
    whole = [part for part in parts if isinstance(part, np.ndarray)]
    if len(whole) == len(parts):
        return np.concatenate(whole)
    return sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")


def beside(left: Matrix, right: Matrix) -> Matrix:
    """Return the columns of two matrices of the same records, sparse if the first is."""
    if isinstance(left, np.ndarray):
        return np.hstack([left, dense(right)])
    return sparse.hstack([left, sparse.csr_array(right)], format="csr")


def single_precision(x: Matrix) -> Matrix:
    """Return the same numbers in single precision."""
    if isinstance(x, np.ndarray):
        return cast(FloatArray, np.ascontiguousarray(x, np.float32))
    return cast(Sparse, x.astype(np.float32))


def dense(x: Matrix) -> FloatArray:
    """Return all numbers, the zeros too: for few records, whose numbers are taken one by one."""
    return x if isinstance(x, np.ndarray) else x.toarray()
