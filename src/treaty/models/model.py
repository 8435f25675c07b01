"""The trained model: plain data that becomes a scikit-learn estimator in the user's own columns."""

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl
from pydantic import Field, ValidationError, model_validator
from rich.console import Group
from rich.table import Table
from rich.text import Text
from scipy.special import expit

from treaty.adaptation import Adapted, adapt
from treaty.adaptation.adapting import Near
from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.losses import Weighted, loss_named, permit
from treaty.matrices import Matrix, beside, scores
from treaty.models.coefficients import CONSTANT, coefficients
from treaty.models.own_columns import OwnColumns
from treaty.models.own_rows import OneLabel, OwnRows, Reader
from treaty.models.provenance import Provenance
from treaty.plain import Plain, first_problem
from treaty.records import (
    Counts,
    Dialect,
    Dictionary,
    Encoder,
    Feature,
    Source,
    SourceLike,
    Target,
    open_source,
)
from treaty.records.frames import as_polars
from treaty.records.sources import no_column
from treaty.records.values import as_number
from treaty.views import as_html, as_text

if TYPE_CHECKING:  # scikit-learn takes a second to import
    from treaty.models.pipeline import TrainedPipeline


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
        dialect: how text files of rows are written, where their owner has not stated it.
        features: the columns it reads.
        target: the column it predicts.
        dictionary: how columns become x.
        loss: the name of the loss.
        parameters: the loss's own numbers.
        class_weights: how much records with the negative and with the positive label counted in it.
        own_columns: columns of an owner's own that it reads on top, if any.
        theta: θ, of the dictionary's numbers and then of those of the own columns.
        adapted: how it was adapted to an owner's own records, if it was.
        provenance: with which privacy it was trained, if that is known.
    """

    treaty: str
    dialect: Dialect = Dialect()
    features: dict[str, Feature]
    target: Target
    dictionary: Dictionary
    loss: str
    parameters: dict[str, float] = {}
    class_weights: tuple[float, float] | None = None
    own_columns: OwnColumns | None = None
    theta: tuple[float, ...] = Field(min_length=1)
    adapted: AdaptedTo | None = None
    provenance: Provenance | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> "Model":
        columns = tuple(name for c, f in self.features.items() for name in f.names(c))
        if columns != self.dictionary.columns:
            raise ValueError("its dictionary is for other columns than its features")
        width = self.dictionary.dimension
        if self.own_columns is not None:
            width += self.own_columns.dictionary.dimension
        if len(self.theta) != width:
            raise ValueError(
                f"theta has {len(self.theta)} numbers, and its dictionary makes {width}"
            )
        return self

    @property
    def encoder(self) -> Encoder:
        """How a row becomes (x, y)."""
        return Encoder(self.features, self.target, self.dictionary, self.dialect)

    @property
    def problem(self) -> Problem:
        """What it is a model of, without treaty, clip or bounds: what an owner's own model minimises."""
        loss = loss_named(self.loss, self.parameters)
        if self.class_weights is not None:
            loss = Weighted(loss, *self.class_weights)
        encoder = self.encoder
        return Problem(loss, encoder.domain, intercept=encoder.dictionary.intercept_index)

    @property
    def reader(self) -> Reader:
        """How it reads records."""
        return Reader(self.problem, self.encoder, self.own_columns)

    @property
    def private(self) -> bool:
        """Whether it follows from private records without noise, or may: it must not leave then."""
        return (
            self.adapted is not None or self.provenance is None or bool(self.provenance.noiseless)
        )

    def adapt(
        self,
        records: SourceLike,
        public: SourceLike | None = None,
        *,
        extra: Sequence[str] = (),
    ) -> "Model":
        """Adapt the model to an owner's own records, inside its walls: no budget is spent.

        The own model is shrunk towards this one, as far as cross-validation on the own records says.
        What comes out is computed from records without noise: if it leaves, that is a release.

        Args:
            records: the owner's own.
            public: public rows, in whose curvature models are held near, and whose model the own one may
                be shrunk towards instead; the curvature is that of the own records if not given.
            extra: columns of the owner's own that the model may use on top of those of the treaty.
        """
        reader = self.reader
        try:
            own = reader.own(records, extra)
        except OneLabel:
            return self.unchanged_for(records)
        theta = None if public is None else reader.public_model(public)
        metrics = reader.metrics(np.array(self.theta), own, public)
        model = adapt(own.records, np.array([self.theta]), metrics, public=theta)[0]
        return self.adapted_as(model, own)

    def unchanged_for(self, records: SourceLike) -> "Model":
        """Return this model as that of an owner whose records say nothing: it stays as it is."""
        own = sum(block.height for block in self._open(records).blocks([self.target.column]))
        times = 1 if self.adapted is None else self.adapted.times + 1
        note = AdaptedTo(records=own, strength=None, level_free=False, near="shared", times=times)
        return self.model_copy(update={"adapted": note})

    def adapted_as(self, model: Adapted, own: OwnRows) -> "Model":
        """Return an adapted model as one that can be saved.

        Args:
            model: what adapting has come to.
            own: the records that it was adapted to.
        """
        note = AdaptedTo(
            records=len(own.truth),
            strength=model.strength if math.isfinite(model.strength) else None,
            level_free=model.metric.level_free,
            near=model.near,
            times=1 if self.adapted is None else self.adapted.times + 1,
        )
        columns = self.own_columns if own.reader is None else own.extra
        theta = tuple(model.theta.tolist())
        return self.model_copy(update={"theta": theta, "own_columns": columns, "adapted": note})

    def margin(self, rows: SourceLike) -> FloatArray:
        """Return θᵀx for rows of the user's columns, in the units of training."""
        frame = self._frame(rows)
        counts = Counts()
        x: Matrix = self.encoder.x(frame, counts)
        counts.rows = len(frame)
        for note in counts.warnings():
            warnings.warn(note, stacklevel=3)
        if self.own_columns is not None:
            x = beside(x, self.own_columns.x(frame))
        return scores(x, np.array(self.theta))

    def predict(self, rows: SourceLike) -> np.ndarray[Any, Any]:
        """Predict rows: numbers in the target's own unit, or labels as the treaty writes them.

        Args:
            rows: a pandas or Polars data frame, a file, or a source; the target need not be in it.

        Example:
            model.predict("next.csv")
        """
        score = self.margin(rows)
        if self.target.bounds is None:
            return self._classes()[(score > self.shift).astype(int)]
        centre, unit = self.target.scaling
        return centre + unit * score

    def predict_proba(self, rows: SourceLike) -> FloatArray:
        """Return how likely each of the two labels is, shape (rows, 2); for the logistic loss only."""
        if self.loss != "logistic":
            raise TreatyError(f"a model of the {self.loss} loss has no probabilities: use predict")
        chance = expit(self.margin(rows) - self.shift)
        return np.column_stack([1.0 - chance, chance])

    def score(self, rows: SourceLike, truth: Any = None) -> float:
        """Return how good predictions are: R² for numbers, the share that is right for labels.

        Args:
            rows: a pandas or Polars data frame, a file, or a source.
            truth: what is true of each row; its target column if not given.
        """
        frame = self._frame(rows)
        if frame.is_empty():
            raise TreatyError("there are no rows to score: give some whose target is known")
        if truth is None:
            if self.target.column not in frame.columns:
                there = frame.columns if isinstance(rows, Mapping) else self._open(rows).schema
                raise TreatyError(no_column(self.target.column, list(there)))
            truth = frame[self.target.column].to_list()
        values = pl.Series(self.target.column, list(truth))
        if self.target.bounds is None:
            yes = self.target.encode(values, Counts()) > 0
            return np.count_nonzero((self.margin(frame) > self.shift) == yes) / len(yes)
        wanted = self.target.numbers(values, Counts())
        apart: FloatArray = wanted - self.predict(frame)
        return 1.0 - float(np.sum(apart**2) / np.sum((wanted - wanted.mean()) ** 2))

    @property
    def coefficients(self) -> dict[str, float]:
        """What the prediction rises by for one more of each column, and the constant where all are 0.

        For labels it is the logarithm of the odds that rises. Scaling, whitening and principal
        components are undone; a category is against a record that has none of those listed.
        """
        theta, width = np.array(self.theta), self.dictionary.dimension
        found = coefficients(self.features, self.dictionary, theta[:width])
        if self.own_columns is not None:
            own = coefficients(
                self.own_columns.features, self.own_columns.dictionary, theta[width:]
            )
            found[CONSTANT] += own.pop(CONSTANT)
            found |= own
        if self.target.bounds is None:
            found[CONSTANT] -= self.shift
            return found
        centre, unit = self.target.scaling
        found = {name: unit * value for name, value in found.items()}
        found[CONSTANT] += centre
        return found

    def get_feature_names_out(self) -> np.ndarray[Any, Any]:
        """Return the names of the encoded columns that it reads."""
        own = () if self.own_columns is None else self.own_columns.dictionary.columns
        return np.array([*self.dictionary.columns, *own], dtype=object)

    def _open(self, rows: SourceLike) -> Source:
        return open_source(rows, dialect=self.dialect)

    def _frame(self, rows: SourceLike) -> pl.DataFrame:
        """Return the columns that it reads, and the target where it is there."""
        own = {} if self.own_columns is None else self.own_columns.features
        if isinstance(rows, Mapping):
            return as_polars(rows, [*self.features, *own])
        source = self._open(rows)
        also = [self.target.column] if self.target.column in source.schema else []
        columns = [*self.features, *own, *also]
        blocks = list(source.blocks(columns))
        return pl.concat(blocks) if blocks else pl.DataFrame(schema=dict.fromkeys(columns, pl.Null))

    def to_sklearn(self, *, losses: Sequence[str] = ()) -> "TrainedPipeline":
        """Return a scikit-learn pipeline of the user's columns: it predicts, and refuses to be fitted.

        Args:
            losses: the loss of one's own that the model may name, such as "my_losses:Pinball"; its
                module is imported. Without it, a model of a loss that does not ship is refused.
        """
        from treaty.models.pipeline import RecordEncoder, TrainedPipeline

        permit(losses)
        slopes = np.array(self.theta)
        constant, place = 0.0, self.dictionary.intercept_index
        if place is not None:
            constant = slopes[place] * self.dictionary.intercept
            slopes = np.delete(slopes, place)
        encoder = RecordEncoder(self.encoder, self.own_columns)
        estimator = self._estimator(slopes, constant)
        return TrainedPipeline([("records", encoder), ("model", estimator)])

    def _estimator(self, slopes: FloatArray, constant: float) -> Any:
        from sklearn.linear_model import HuberRegressor, LinearRegression, LogisticRegression
        from sklearn.svm import LinearSVC

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

    def __repr__(self) -> str:
        what = f"{self.target.column} from {len(self.features)} columns, {self.loss} loss"
        known = self.provenance
        how = "its privacy is not known" if known is None else known.words()
        if self.adapted is not None:
            how += f", adapted to {self.adapted.records:,} own records: it must not leave"
        return f"Model({what}, {how}, treaty {self.treaty[:16]})"

    def __str__(self) -> str:
        return as_text(self.rendered())

    def rendered(self) -> Group:
        """Return it as something Rich prints: what it is, and its coefficients."""
        words = Text(repr(self), style="bold")
        if self.dictionary.frequencies is not None:
            return Group(words)
        what = self.target.unit or self.target.column
        what = "logarithm of the odds" if self.target.bounds is None else what
        table = Table(header_style="bold")
        table.add_column("column", overflow="fold")
        table.add_column(f"{what}, for one more of it", justify="right")
        for name, value in self.coefficients.items():
            table.add_row(Text(name), f"{value:.4g}")
        return Group(words, table)

    def _repr_html_(self) -> str:
        return as_html(self.rendered())

    def save(self, path: str | Path) -> None:
        """Write the model as JSON, and in it whether it must not leave."""
        plain = {"private": self.private, **self.model_dump(mode="json")}
        Path(path).write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "Model":
        """Read a model written by `save`."""
        try:
            plain = json.loads(Path(path).read_text(encoding="utf-8"))
            if isinstance(plain, dict):
                cast(dict[str, Any], plain).pop("private", None)  # what it is made from says so
            return cls.model_validate(plain)
        except OSError as error:
            raise TreatyError(f"{path}: cannot be read ({error.strerror})") from error
        except ValidationError as error:
            raise TreatyError(f"{path}: not a saved model: {first_problem(error)}") from error
        except (ValueError, RecursionError) as error:
            raise TreatyError(
                f"{path}: not a saved model: give a file that --model has written"
            ) from error
