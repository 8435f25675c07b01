"""The trained model: plain data that becomes a scikit-learn estimator in the user's own columns."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from pydantic import Field, ValidationError, model_validator
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import HuberRegressor, LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.losses import loss_named, permit
from treaty.plain import Plain, first_problem
from treaty.records import Dictionary, Encoder, Feature, Target
from treaty.records.columns import as_number
from treaty.records.frames import as_polars


class Model(Plain):
    """A trained model with all that is needed to apply it. Saved as JSON, never as a pickle.

    Args:
        treaty: the fingerprint of the treaty it was trained under.
        features: the columns it reads.
        target: the column it predicts.
        dictionary: how columns become x.
        loss: the name of the loss.
        parameters: the loss's own numbers.
        class_weights: how much records with the negative and with the positive label counted in it.
        theta: θ.
    """

    treaty: str
    features: dict[str, Feature]
    target: Target
    dictionary: Dictionary
    loss: str
    parameters: dict[str, float] = {}
    class_weights: tuple[float, float] | None = None
    theta: tuple[float, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _fits_together(self) -> "Model":
        columns = tuple(name for c, f in self.features.items() for name in f.names(c))
        if columns != self.dictionary.columns:
            raise ValueError("its dictionary is for other columns than its features")
        if len(self.theta) != self.dictionary.dimension:
            raise ValueError(
                f"theta has {len(self.theta)} numbers, and its dictionary makes "
                f"{self.dictionary.dimension}"
            )
        return self

    def score(self, frame: pl.DataFrame) -> FloatArray:
        """Return θᵀx for rows of the user's columns, in the units of training."""
        encoder = Encoder(self.features, self.target, self.dictionary)
        return encoder.x(frame) @ np.array(self.theta)

    def to_sklearn(self, *, losses: Sequence[str] = ()) -> Pipeline:
        """Return a fitted scikit-learn pipeline that takes data frames of the user's columns.

        Args:
            losses: the loss of one's own that the model may name, such as "my_losses:Pinball"; its
                module is imported. Without it, a model of a loss that does not ship is refused.
        """
        permit(losses)
        slopes = np.array(self.theta)
        constant = 0.0
        if self.dictionary.intercept > 0:
            constant = slopes[-1] * self.dictionary.intercept
            slopes = slopes[:-1]
        encoder = RecordEncoder(Encoder(self.features, self.target, self.dictionary))
        return Pipeline([("records", encoder), ("model", self._estimator(slopes, constant))])

    def _estimator(self, slopes: FloatArray, constant: float) -> BaseEstimator:
        estimator: Any
        if loss_named(self.loss, self.parameters).labels:
            estimator = LogisticRegression() if self.loss == "logistic" else LinearSVC()
            estimator.classes_ = self._classes()
            estimator.coef_ = slopes[None, :]
            # Weights raise the odds of a label; probabilities are those of the records as they come.
            estimator.intercept_ = np.array([constant - self.shift])
        else:
            centre, unit = self.target.scaling
            estimator = HuberRegressor() if self.loss == "huber" else LinearRegression()
            estimator.coef_ = slopes * unit
            estimator.intercept_ = constant * unit + centre
            estimator.scale_ = unit
        estimator.n_features_in_ = len(slopes)
        return estimator

    @property
    def shift(self) -> float:
        """By how much class weights have raised the logarithm of the odds of the positive label."""
        if self.class_weights is None or self.loss != "logistic":
            return 0.0
        return math.log(self.class_weights[1] / self.class_weights[0])

    def _classes(self) -> np.ndarray[Any, Any]:
        """The two labels as the user writes them: numbers where they are numbers."""
        labels = self.target.labels or ("-1", "1")
        numbers = [as_number(label) for label in labels]
        if any(np.isnan(number) for number in numbers):
            return np.array(labels)
        whole = all(number.is_integer() for number in numbers)
        return np.array([int(n) for n in numbers] if whole else numbers)

    def save(self, path: str | Path) -> None:
        """Write the model as JSON."""
        Path(path).write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "Model":
        """Read a model written by `save`."""
        try:
            return cls.model_validate(json.loads(Path(path).read_text(encoding="utf-8")))
        except OSError as error:
            raise TreatyError(f"{path}: cannot be read ({error.strerror})") from error
        except ValidationError as error:
            raise TreatyError(f"{path}: not a saved model: {first_problem(error)}") from error
        except (ValueError, RecursionError) as error:
            raise TreatyError(f"{path}: not a saved model: not JSON") from error


class RecordEncoder(TransformerMixin, BaseEstimator):
    """A scikit-learn transformer from data frames of the user's columns to features.

    The constant column is left to the estimator's own intercept.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    def fit(self, X: Any, y: Any = None) -> "RecordEncoder":
        """Do nothing: the dictionary is public and fixed."""
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the features of a polars or pandas data frame, or of a dict of columns."""
        x = self.encoder.x(as_polars(X, list(self.encoder.features)))
        return x[:, :-1] if self.encoder.dictionary.intercept > 0 else x

    def __sklearn_is_fitted__(self) -> bool:
        return True
