"""Two labels, in the manner of scikit-learn."""

from typing import Any, cast

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import (
    check_classification_targets,  # pyright: ignore[reportUnknownVariableType]
)

from treaty.arrays import FloatArray
from treaty.estimators.estimator import TARGET, TreatyEstimator, check_known, public_rows
from treaty.records import Target


class TreatyClassifier(ClassifierMixin, TreatyEstimator):
    """A logistic model of two labels, trained across groups of records under differential privacy.

    The two labels themselves are taken to be public.

    Args:
        epsilon: every owner's budget ε, or a mapping from groups to budgets.
        delta: δ that every owner allows; 0 for pure ε.
        bounds: without public rows: the least and the largest value of every feature, each one number
            or one for each feature.
        effort: units of work in planning, with public rows; each takes about a second.

    Example:
        model = treaty.TreatyClassifier(epsilon=1.0)
        model.fit(X, y, groups=bank, X_public=X_public, y_public=y_public)
        model.predict_proba(X_next)
    """

    def fit(
        self, X: Any, y: Any, groups: Any = None, X_public: Any = None, y_public: Any = None
    ) -> "TreatyClassifier":
        """Train across groups, each with its own budget and live noise.

        Args:
            X: features: an array of numbers, or a data frame with whatever a treaty can read.
            y: labels, of two kinds.
            groups: whose each row is; one owner's if not given.
            X_public: features of public rows.
            y_public: their labels.
        """
        rows, labels = self._checked(X, y, reset=True)
        check_known("y", labels)
        check_classification_targets(labels)
        self.classes_: Any = np.unique(labels)
        if len(self.classes_) != 2:
            raise ValueError(
                "Only binary classification is supported. Two labels are needed, not "
                f"{len(self.classes_)} class(es)"
            )
        public = public_rows(X_public, y_public)
        if public is not None:
            public = X_public, self._places(np.asarray(y_public))
        target = Target(column=TARGET, labels=("0", "1"))
        self._fitted_to(rows, self._places(labels), groups, public, target)
        return self

    def _places(self, y: Any) -> Any:
        strange = sorted(set(np.unique(y).tolist()) - set(self.classes_.tolist()), key=str)
        if strange:
            raise ValueError(
                f"y_public: the label {strange[0]!r} is in the public rows alone; y holds "
                f"{' and '.join(repr(label) for label in self.classes_.tolist())}: write labels alike"
            )
        return cast(Any, np).searchsorted(self.classes_, y)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return how likely each of the two labels is, shape (rows, 2)."""
        rows = self._rows(X)
        return self.model_.predict_proba(rows)

    def decision_function(self, X: Any) -> FloatArray:
        """Return the logarithm of the odds of the second label."""
        rows = self._rows(X)
        return self.model_.margin(rows) - self.model_.shift

    def predict(self, X: Any) -> Any:
        """Return the likelier label of each row."""
        likelier = (self.decision_function(X) > 0).astype(int)
        return self.classes_[likelier]

    def __sklearn_tags__(self) -> Any:
        tags = cast(Any, super()).__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
