"""Several models' predictions of the same held-out records, measured, with intervals.

Intervals come from leaving out groups of records, one after the other (the jackknife): one method for
every measure and for every comparison of two models on the same records.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from scipy.special import stdtrit

from treaty.arrays import FloatArray, IntArray
from treaty.measures.errors import Errors
from treaty.measures.estimate import Estimate
from treaty.measures.measure import Measure

GROUPS = 40
"""So many groups of records are left out in turn."""
NORMAL = 1.645
"""Half the width of a normal 90% interval, in standard deviations."""
Rows: TypeAlias = IntArray | slice
Statistic: TypeAlias = Callable[[Rows, int], float]


class Comparison:
    """Predictions of several models of the same held-out records.

    Args:
        truth: what was true.
        predictions: what each model said, by its name: shape (records,), or (draws, records) for a model
            that is not known yet, of which there are several draws.
        next_records: an interval is for the error on so many further records; on ever more of them if
            not given.
        tails: the variance of squared errors over their squared mean, as known from other rows: few
            records rarely show how large the rarest errors are.
    """

    def __init__(
        self,
        truth: FloatArray,
        predictions: Mapping[str, FloatArray],
        next_records: int | None = None,
        tails: float = 0.0,
    ) -> None:
        self.truth = truth
        self._tails = tails
        self._predictions = {name: np.atleast_2d(p) for name, p in predictions.items()}
        n = len(truth)
        self._wider = 1.0 if next_records is None else 1 + n / next_records
        groups = min(GROUPS, n)
        group = np.random.default_rng(n).permutation(np.arange(n) % groups)
        self._kept = [np.flatnonzero(group != g) for g in range(groups)]

    @property
    def names(self) -> tuple[str, ...]:
        """The models."""
        return tuple(self._predictions)

    def errors(self, name: str, measures: Sequence[Measure]) -> Errors:
        """Return what a model's predictions come to."""
        draws = self._predictions[name]

        def estimate(measure: Measure) -> Estimate:
            def of(rows: Rows, draw: int) -> float:
                return measure.of(self.truth[rows], draws[draw][rows])

            found = self._estimate(of, len(draws))
            if measure.rises:
                return found
            least = 0.5 * NORMAL * math.sqrt(self._tails / len(self.truth) * self._wider)
            return _above_zero(found, least if measure.name == "rmse" else 0.0)

        return Errors({measure.name: estimate(measure) for measure in measures})

    def gain(
        self, name: str, rival: str, measure: Measure, *, in_the_long_run: bool = False
    ) -> Estimate:
        """Return by which share a model is better than another: 0.02 is an error lower by 2%.

        Where higher is better, the error is what is missing to 1.

        Args:
            name: of the model.
            rival: of the other one.
            measure: of errors.
            in_the_long_run: whether the interval is that over ever more records, instead of as many
                further ones: of few, the better model may well be the unluckier one.
        """
        mine, others = self._predictions[name], self._predictions[rival]

        def lowered(rows: Rows, draw: int) -> float:
            truth = self.truth[rows]
            better = measure.loss(measure.of(truth, mine[draw % len(mine)][rows]))
            worse = measure.loss(measure.of(truth, others[draw % len(others)][rows]))
            return 1.0 - better / worse if worse > 0 else 0.0

        draws = max(len(mine), len(others))
        return self._estimate(lowered, draws, wider=1.0 if in_the_long_run else None)

    def _estimate(self, statistic: Statistic, draws: int, wider: float | None = None) -> Estimate:
        everything = slice(None)
        values = np.array([statistic(everything, draw) for draw in range(draws)])
        value = float(values.mean())
        left_out = np.array(
            [np.mean([statistic(rows, draw) for draw in range(draws)]) for rows in self._kept]
        )
        known = left_out[np.isfinite(left_out)]
        groups = len(known)
        if groups < 2 or not math.isfinite(value):
            return Estimate(value, value, value)
        chance = (groups - 1) / groups * float(np.square(known - known.mean()).sum())
        of_draws = float(values.var(ddof=1)) if draws > 1 else 0.0
        wide = float(stdtrit(groups - 1, 0.95))
        wider = self._wider if wider is None else wider
        half = math.sqrt(wide**2 * chance * wider + NORMAL**2 * of_draws)
        return Estimate(value, value - half, value + half)


def _above_zero(estimate: Estimate, least: float) -> Estimate:
    """Return an error with an interval above 0, upwards on the logarithmic scale.

    One huge error makes the mean of squares large and its spread larger still: without it, as on most
    further records, the error may be far lower, so downwards the wider of both scales counts.

    Args:
        estimate: the error.
        least: half the width of the interval, relative to the error, is at least this.
    """
    if estimate.value <= 0:
        return estimate
    wide = 1 + max(least, (estimate.high - estimate.value) / estimate.value)
    low = min(estimate.value / wide, max(0.0, estimate.value * (2 - wide)))
    return Estimate(estimate.value, low, estimate.value * wide)
