"""diffprivlib's models on a case: all rows in one place, at the same ε, bounds from public rows."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from bench.peers import diffprivlib
from bench.privacy_cases import Case
from treaty.arrays import FloatArray
from treaty.records import Counts, FrameSource
from treaty.records.encoder import encode
from treaty.records.fitting import place_knots
from treaty.records.values import as_numbers

TIMES, FEWER_TIMES, MANY = 20, 5, 60
"""How often it is fitted; with so many columns that takes minutes, and it is fitted less often."""
QUANTILES = (0.0, 0.01, 0.05)
"""Bounds leave such a share of public rows outside on either side; the best for it is taken."""


def peer_error(case: Case, epsilon: float) -> float:
    """Return the median error of diffprivlib's model: mean squared error, or log loss.

    In its favour: no parties, and whichever bounds turn out best on these very records.
    """
    features = place_knots(case.treaty.features, FrameSource(case.public))
    public, private = (encode(features, rows, Counts()) for rows in (case.public, case.rows))
    found = _logistic if case.labels else _linear
    return min(float(np.median(errors)) for errors in found(case, public, private, epsilon))


def _linear(
    case: Case, public: FloatArray, private: FloatArray, epsilon: float
) -> Iterator[FloatArray]:
    column = case.treaty.target.column
    times = TIMES if public.shape[1] <= MANY else FEWER_TIMES
    seen, truth = (as_numbers(column, rows[column], Counts()) for rows in (case.public, case.rows))
    for share in QUANTILES:
        low, high = np.quantile(public, [share, 1 - share], axis=0)
        # A category that next to no public row has is a 0 or a 1 all the same.
        wide = np.where(high > low, 0.0, 1.0)
        low, high = low - wide * (low > 0), high + wide * (high <= 0)
        y_low, y_high = (float(q) for q in np.quantile(seen, [share, 1 - share]))
        rows = {"x": private, "y": truth, "low": low, "high": high, "y_low": y_low}
        models = diffprivlib("linear", epsilon, times, {**rows, "y_high": y_high})
        scores = private @ models[:, :-1].T + models[:, -1]
        yield np.mean((truth[:, None] - scores) ** 2, axis=0)


def _logistic(
    case: Case, public: FloatArray, private: FloatArray, epsilon: float
) -> Iterator[FloatArray]:
    labels = _labels(case, case.rows)
    centre, scale = public.mean(axis=0), public.std(axis=0)
    for share in QUANTILES[1:]:
        x = (private - centre) / scale
        norm = float(np.quantile(np.linalg.norm((public - centre) / scale, axis=1), 1 - share))
        x = x / np.maximum(1.0, np.linalg.norm(x, axis=1) / norm)[:, None]
        rows = {"x": x, "y": (labels > 0).astype(float), "norm": norm}
        models = diffprivlib("logistic", epsilon, TIMES, rows)
        scores = x @ models[:, :-1].T + models[:, -1]
        yield np.mean(np.logaddexp(0.0, -labels[:, None] * scores), axis=0)


def _labels(case: Case, rows: pl.DataFrame) -> FloatArray:
    target = case.treaty.target
    return target.encode(rows[target.column], Counts())
