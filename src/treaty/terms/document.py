"""The treaty document: what all parties read and ratify before anything is exchanged.

Nothing in it is private, and nothing outside it is negotiable at run time.
"""

import math
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from treaty.fitness.problem import check_domain
from treaty.limits import (
    LARGEST_EPSILON,
    LONGEST_HORIZON,
    MOST_RECORDS,
    SMALLEST_DELTA,
    SMALLEST_EPSILON,
    check_magnitude,
    check_size,
)
from treaty.losses import Norm
from treaty.plain import Plain
from treaty.records import (
    Dialect,
    Dictionary,
    DictionaryTerms,
    Encoder,
    Feature,
    Source,
    SourceLike,
    Target,
    bounds_dictionary,
    open_source,
)
from treaty.terms.names import check_names

VERSION = 1
"""The newest version of the document that this program understands."""


class LossTerms(Plain):
    """The loss, the regulariser and Θ.

    Args:
        name: squared, hinge, logistic, huber, or a module path such as "my_losses:Pinball".
        parameters: the loss's own numbers, such as delta for huber.
        clip: clip every record's gradient to this norm; not at all if not given.
        clip_norm: the norm of the clip; the mechanism's own if not given.
        class_weights: for labels: how much a record with each label counts, such as {fraud = 50}, 1 if
            not given; or "balanced": by how rare each label is among public rows, which fitting the
            treaty's dictionary replaces by numbers.
        ridge: λ in g(θ) = (λ/2)‖θ‖².
        theta_max: Θ = {‖θ‖∞ ≤ theta_max}; may be inf for a loss whose gradient is bounded anyway.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=True)

    name: str
    parameters: dict[str, float] = {}
    clip: float | None = None
    clip_norm: Norm | None = None
    class_weights: dict[str, float] | Literal["balanced"] | None = None
    ridge: float = 0.0
    theta_max: float = math.inf

    @model_validator(mode="after")
    def _positive(self) -> "LossTerms":
        if self.clip is not None:
            check_size("clip", self.clip)
        if isinstance(self.class_weights, dict):
            for label, weight in self.class_weights.items():
                check_size(f"class_weights.{label}", weight)
        check_size("ridge", self.ridge, zero=True)
        check_size("theta_max", self.theta_max, infinite=True)
        for name, number in self.parameters.items():
            check_magnitude(f"parameters.{name}", number)
        return self


class TrainingTerms(Plain):
    """How the model is trained.

    Args:
        method: shrinking-steps, averaged-subgradient, one-at-a-time, one-shot or blended-step.
        horizon: T.
        parameters: the method's own numbers; derived from the problem if not given.
        mechanism: laplace or gaussian.
        weights: "records" (n_i/n) or "precision" (n_i²ε_i²).
        overlap: κ, in how many datasets one record may sit.
        blocs: lists of parties that answer together as one (asynchronous only).
        frequency_scaling: off, declared or observed (asynchronous only).
        start: "zero"; "public": the best model of the public rows; "tuned": the same with a ridge by
            cross-validation on these rows.
        axes: ask along so many directions only, those in which the public model may be off most, for
            less noise in each; along all of them if not given (blended-step only).
    """

    method: str
    horizon: Annotated[int, Field(strict=True)]
    parameters: dict[str, float] = {}
    mechanism: str = "laplace"
    weights: Literal["records", "precision"] = "records"
    overlap: Annotated[int, Field(strict=True)] = 1
    blocs: tuple[tuple[str, ...], ...] = ()
    frequency_scaling: Literal["off", "declared", "observed"] = "off"
    start: Literal["zero", "public", "tuned"] = "zero"
    axes: Annotated[int, Field(strict=True, ge=1)] | None = None

    @field_validator("horizon")
    @classmethod
    def _at_least_one(cls, horizon: int) -> int:
        if not 1 <= horizon <= LONGEST_HORIZON:
            raise ValueError(
                f"the horizon must lie between 1 and {LONGEST_HORIZON:,}, not {horizon:,}"
            )
        return horizon


class PartyTerms(Plain):
    """One owner.

    Args:
        name: its name.
        records: n_i.
        epsilon: ε_i; inf for no noise.
        delta: δ_i; 0 for pure ε.
        answers: the most answers it gives; the horizon if not given.
        rate: how often its clock ticks (asynchronous only).
        away: intervals of clock time in which it does not answer (asynchronous only).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=True)

    name: Annotated[str, Field(min_length=1)]
    records: Annotated[int, Field(strict=True)]
    epsilon: float
    delta: float = 0.0
    answers: Annotated[int, Field(strict=True)] | None = None
    rate: float = 1.0
    away: tuple[tuple[float, float], ...] = ()

    @model_validator(mode="after")
    def _sensible(self) -> "PartyTerms":
        if not 1 <= self.records <= MOST_RECORDS:
            raise ValueError(
                f"{self.name} must hold between 1 and {MOST_RECORDS:,} records, not {self.records:,}"
            )
        if not (SMALLEST_EPSILON <= self.epsilon <= LARGEST_EPSILON or self.epsilon == math.inf):
            raise ValueError(
                f"epsilon must lie between {SMALLEST_EPSILON:g} and {LARGEST_EPSILON:g} (or be inf), "
                f"not {self.epsilon:g}"
            )
        if self.delta != 0 and not SMALLEST_DELTA <= self.delta < 1:
            raise ValueError(
                f"delta must be 0, or between {SMALLEST_DELTA:g} and 1, not {self.delta:g}"
            )
        return self


class Treaty(Plain):
    """The whole document.

    Features and parties are kept in the order of their names, so that the order in which they are
    written down means nothing.

    Args:
        version: of the document's format.
        title: one line for people.
        dialect: how text files of records are written, where their owner has not stated it.
        features: the columns of a record, by name.
        target: the column to predict.
        dictionary: how columns become x.
        fitted: the dictionary's numbers, once fitted on public rows.
        loss: the loss, the regulariser and Θ.
        training: how the model is trained.
        parties: the owners.
    """

    version: int
    title: str = ""
    dialect: Dialect = Dialect()
    features: Annotated[dict[str, Feature], Field(min_length=1)]
    target: Target
    dictionary: DictionaryTerms = DictionaryTerms()
    fitted: Dictionary | None = None
    loss: LossTerms
    training: TrainingTerms
    parties: Annotated[tuple[PartyTerms, ...], Field(min_length=1)]

    def open(
        self, records: SourceLike, *, by: str | None = None, owner: str | None = None
    ) -> Source:
        """Return records as this treaty reads them.

        Args:
            records: a file, a data frame or a source.
            by: the column that says whose record it is, if there are several owners'.
            owner: whose records to take.
        """
        return open_source(records, by=by, owner=owner, dialect=self.dialect)

    @field_validator("features")
    @classmethod
    def _by_name(cls, features: dict[str, Feature]) -> dict[str, Feature]:
        return dict(sorted(features.items()))

    @field_validator("parties")
    @classmethod
    def _parties_by_name(cls, parties: tuple[PartyTerms, ...]) -> tuple[PartyTerms, ...]:
        names = [party.name for party in parties]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two parties are called {', '.join(twice)}: give each its own name")
        check_names("party", names)
        return tuple(sorted(parties, key=lambda party: party.name))

    @model_validator(mode="after")
    def _can_be_printed(self) -> "Treaty":
        names = [self.title, self.target.column, *self.features, *(p.name for p in self.parties)]
        hidden = [name for name in names if not name.isprintable()]
        if hidden:
            raise ValueError(f"{hidden[0]!r} has characters that cannot be printed")
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> "Treaty":
        if self.target.column in self.features:
            raise ValueError(
                f'column "{self.target.column}" is a feature and the target: leave it out of [features]'
            )
        columns = tuple(n for c, f in self.features.items() for n in f.names(c))
        if self.dictionary.components is not None and self.dictionary.components > len(columns):
            raise ValueError(
                f"{self.dictionary.components} components cannot come out of {len(columns)} columns: "
                f"write at most components = {len(columns)} under [dictionary]"
            )
        if self.fitted is not None:
            self._fitted_as_agreed(self.fitted, columns)
        dictionary = self.fitted
        if dictionary is None and not self.dictionary.needs_public_rows:
            dictionary = bounds_dictionary(self.dictionary, self.features)
        if dictionary is not None:
            check_domain(Encoder(self.features, self.target, dictionary).domain)
        return self

    def _fitted_as_agreed(self, fitted: Dictionary, columns: tuple[str, ...]) -> None:
        """Refuse a fitted dictionary that is not what the terms describe."""
        terms = self.dictionary
        if fitted.columns != columns:
            here, there = (
                sorted(set(columns) - set(fitted.columns)),
                sorted(set(fitted.columns) - set(columns)),
            )
            raise ValueError(
                "the fitted dictionary is for other columns"
                + (f"; only [features] has {', '.join(here[:3])}" if here else "")
                + (f"; only the dictionary has {', '.join(there[:3])}" if there else "")
                + ": write the columns as they were, or take out the line that begins with fitted and "
                "run treaty fit"
            )
        features = None if fitted.frequencies is None else 2 * len(fitted.frequencies)
        wanted = None if terms.fourier is None else terms.fourier.features
        radius = terms.radius is not None or terms.radius_quantile is not None
        agreed = (
            (fitted.norm, fitted.intercept) == (terms.norm, terms.intercept)
            and self._directions_as_agreed(fitted)
            and len(fitted.axes or ()) == (self.training.axes or 0)
            and features == wanted
            and (fitted.radius is not None) == radius
            and terms.radius in (None, fitted.radius)
        )
        if not agreed:
            raise ValueError(
                "the fitted dictionary is not what [dictionary] and training.axes say: write these as "
                "they were, or take out the line that begins with fitted and run treaty fit"
            )

    def _directions_as_agreed(self, fitted: Dictionary) -> bool:
        """Whether a fitted dictionary has as many directions as the terms say."""
        terms, found = self.dictionary, len(fitted.directions or ())
        if terms.components is not None or not terms.whiten:
            return found == (terms.components or 0)
        # Numbers are turned among themselves, as many as vary, and all other columns stay.
        numeric = [number for feature in self.features.values() for number in feature.numeric]
        if sum(numeric) < 2:
            return found == 0
        return len(numeric) - sum(numeric) < found <= len(numeric)
