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

from treaty.adaptation import Adapted, Metric, OwnRecords, adapt, alone, in_predictions
from treaty.adaptation.adapting import Near
from treaty.adaptation.metrics import LEVEL_FREE
from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness import Problem, RowRisk
from treaty.losses import Weighted, loss_named, permit
from treaty.plain import Plain, first_problem
from treaty.records import (
    Dictionary,
    Encoder,
    Feature,
    Source,
    SourceLike,
    Target,
    open_source,
)
from treaty.records.frames import as_polars
from treaty.records.values import as_number

FEWEST = 20
"""So many records an owner needs to adapt a model to them."""


class AdaptedTo(Plain):
    """How a model was adapted to an owner's own records. It must not leave without a budget of its own.

    Args:
        records: how many records.
        strength: λ, how strongly it was held near the shared model; none for the shared model itself.
        level_free: whether the level of its predictions was left free.
        near: what it is held near to: the shared model, or, where the own records spoke against it, the
            public one or nothing.
        times: how often it has been adapted.
    """

    records: int
    strength: float | None
    level_free: bool
    near: Near
    times: int = 1


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
        adapted: how it was adapted to an owner's own records, if it was.
    """

    treaty: str
    features: dict[str, Feature]
    target: Target
    dictionary: Dictionary
    loss: str
    parameters: dict[str, float] = {}
    class_weights: tuple[float, float] | None = None
    theta: tuple[float, ...] = Field(min_length=1)
    adapted: AdaptedTo | None = None

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

    @property
    def encoder(self) -> Encoder:
        """How a row becomes (x, y)."""
        return Encoder(self.features, self.target, self.dictionary)

    @property
    def problem(self) -> Problem:
        """What it is a model of, without treaty, clip or bounds: what an owner's own model minimises."""
        loss = loss_named(self.loss, self.parameters)
        if self.class_weights is not None:
            loss = Weighted(loss, *self.class_weights)
        encoder = self.encoder
        return Problem(loss, encoder.domain, intercept=encoder.dictionary.intercept_index)

    def adapt(self, records: SourceLike, public: SourceLike | None = None) -> "Model":
        """Adapt the model to an owner's own records, inside its walls: no budget is spent.

        The own model is shrunk towards this one, as far as cross-validation on the own records says.
        What comes out is computed from records without noise: if it leaves, that is a release.

        Args:
            records: the owner's own.
            public: public rows, in whose curvature models are held near, and whose model the own one may
                be shrunk towards instead; the curvature is that of the own records if not given.
        """
        own = own_rows(self, records)
        metrics = metrics_for(self, own, public)
        theta = None if public is None else public_model(self, public)
        model = adapt(own, np.array([self.theta]), metrics, public=theta)[0]
        return self.adapted_as(model, len(own.y))

    def adapted_as(self, model: Adapted, records: int) -> "Model":
        """Return an adapted model as one that can be saved.

        Args:
            model: what adapting has come to.
            records: to how many records.
        """
        note = AdaptedTo(
            records=records,
            strength=model.strength if math.isfinite(model.strength) else None,
            level_free=model.metric.name == LEVEL_FREE,
            near=model.near,
            times=1 if self.adapted is None else self.adapted.times + 1,
        )
        return self.model_copy(update={"theta": tuple(model.theta.tolist()), "adapted": note})

    def score(self, frame: pl.DataFrame) -> FloatArray:
        """Return θᵀx for rows of the user's columns, in the units of training."""
        return self.encoder.x(frame) @ np.array(self.theta)

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
        encoder = RecordEncoder(self.encoder)
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


def own_rows(model: Model, records: SourceLike) -> OwnRecords:
    """Read an owner's own records as a model reads them."""
    source = open_source(records)
    problem = model.problem
    rows, _ = model.encoder.rows(problem.fitness_loss, source)
    check_own(source, rows, labels=problem.fitness_loss.labels)
    return OwnRecords(problem, rows.x, rows.y)


def check_own(source: Source, rows: RowRisk, *, labels: bool) -> None:
    """Refuse records that are too few to adapt a model to, or that are all alike."""
    if rows.n < FEWEST:
        raise TreatyError(
            f"{source.label}: {rows.n} records are too few to adapt a model to: at least {FEWEST} are "
            "needed"
        )
    if labels and len(np.unique(rows.y)) < 2:
        raise TreatyError(
            f"{source.label}: every record has the same label, so nothing can be learnt from them"
        )


def metrics_for(model: Model, own: OwnRecords, public: SourceLike | None) -> tuple[Metric, ...]:
    """Return in which metrics a model is held near: that of public rows, or else of the own ones."""
    rows = own.rows_without(())
    if public is not None:
        rows, _ = model.encoder.rows(own.problem.fitness_loss, open_source(public))
    return in_predictions(own.problem, rows, np.array(model.theta))


def public_model(model: Model, public: SourceLike) -> FloatArray:
    """Return the best model of public rows, with as much of a ridge as cross-validation asks for."""
    source = open_source(public)
    rows, _ = model.encoder.rows(model.problem.fitness_loss, source)
    if rows.n < 20:
        raise TreatyError(
            f"{source.label}: {rows.n} public rows are too few for a model: at least 20 are needed"
        )
    return alone(OwnRecords(model.problem, rows.x, rows.y, 10)).theta


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
