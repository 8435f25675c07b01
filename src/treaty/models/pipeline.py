"""A trained model as a scikit-learn pipeline that is fitted already, and can only predict."""

from typing import Any, NoReturn

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.matrices import beside, dense
from treaty.models.own_columns import OwnColumns
from treaty.records import Encoder
from treaty.records.frames import as_polars


class TrainedPipeline(Pipeline):
    """A pipeline that was trained under a treaty. It predicts; it cannot be fitted again."""

    def fit(self, X: Any, y: Any = None, **params: Any) -> NoReturn:
        """Refuse: fitting again would be without any privacy.

        Raises:
            TreatyError: always.
        """
        raise TreatyError(
            "this model was trained under a treaty, and fitting it again would be without privacy: "
            "train again with treaty.train, or use treaty.TreatyRegressor or TreatyClassifier"
        )


class RecordEncoder(TransformerMixin, BaseEstimator):
    """A scikit-learn transformer from data frames of the user's columns to features.

    The constant column is left to the estimator's own intercept.
    """

    def __init__(self, encoder: Encoder, own_columns: OwnColumns | None = None) -> None:
        self.encoder = encoder
        self.own_columns = own_columns

    def fit(self, X: Any, y: Any = None) -> "RecordEncoder":
        """Do nothing: the dictionary is public and fixed."""
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the features of a polars or pandas data frame, or of a dict of columns."""
        own = {} if self.own_columns is None else self.own_columns.features
        frame = as_polars(X, [*self.encoder.features, *own])
        x = self.encoder.x(frame)
        x = x[:, :-1] if self.encoder.dictionary.intercept > 0 else x
        return x if self.own_columns is None else dense(beside(x, self.own_columns.x(frame)))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, Any]:
        """Return the names of the features: columns, or the components made of them."""
        dictionary = self.encoder.dictionary
        names = list(dictionary.columns)
        if dictionary.directions is not None:
            names = [f"component {i + 1}" for i in range(len(dictionary.directions))]
        if dictionary.frequencies is not None:
            waves = range(1, len(dictionary.frequencies) + 1)
            names = [f"{wave} {i}" for wave in ("cosine", "sine") for i in waves]
        if self.own_columns is not None:
            names += list(self.own_columns.dictionary.columns)
        return np.array(names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True
