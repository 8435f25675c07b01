"""Numbers, in the manner of scikit-learn."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.estimators.estimator import TARGET, TreatyEstimator, check_known, public_rows
from treaty.records import Target
from treaty.terms.proposing import outward


class TreatyRegressor(RegressorMixin, TreatyEstimator):
    """A linear model of numbers, trained across groups of records under differential privacy.

    Args:
        epsilon: every owner's budget ε, or a mapping from groups to budgets.
        delta: δ that every owner allows; 0 for pure ε.
        bounds: without public rows: the least and the largest value of every feature, each one number
            or one for each feature.
        target_bounds: without public rows: the least and the largest target.
        effort: units of work in planning, with public rows; each takes about a second.

    Example:
        model = treaty.TreatyRegressor(epsilon=1.0)
        model.fit(X, y, groups=hospital, X_public=X_public, y_public=y_public)
        model.predict(X_next)
    """

    def __init__(
        self,
        epsilon: float | Mapping[Any, float] = 1.0,
        *,
        delta: float = 0.0,
        bounds: tuple[Any, Any] | None = None,
        target_bounds: tuple[float, float] | None = None,
        effort: float = 20.0,
    ) -> None:
        super().__init__(epsilon, delta=delta, bounds=bounds, effort=effort)
        self.target_bounds = target_bounds

    def fit(
        self, X: Any, y: Any, groups: Any = None, X_public: Any = None, y_public: Any = None
    ) -> "TreatyRegressor":
        """Train across groups, each with its own budget and live noise.

        Args:
            X: features: an array of numbers, or a data frame with whatever a treaty can read.
            y: targets.
            groups: whose each row is; one owner's if not given.
            X_public: features of public rows.
            y_public: their targets.
        """
        rows, numbers = self._checked(X, y, reset=True, numeric=True)
        check_known("y", numbers)
        numbers, public = _numbers("y", numbers), public_rows(X_public, y_public)
        if public is None:
            if self.target_bounds is None:
                raise TreatyError(
                    "nothing may be read off private records: give public rows with X_public and "
                    "y_public, or say in `bounds` and `target_bounds` what may be known of them"
                )
            low, high = self.target_bounds
            target = Target(column=TARGET, bounds=(float(low), float(high)))
            self._fitted_to(rows, numbers, groups, None, target)
            return self
        known = _numbers("y_public", y_public)
        target = Target(column=TARGET, bounds=outward(known))
        self._fitted_to(rows, numbers, groups, (X_public, known), target)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predict rows."""
        rows = self._rows(X)
        return np.asarray(self.model_.predict(rows))


def _numbers(name: str, values: Any) -> FloatArray:
    """Return targets as numbers, or say which is none."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must hold numbers ({error}): for labels of two kinds use TreatyClassifier"
        ) from error
