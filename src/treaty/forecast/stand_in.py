"""Stand-in rows: records that stand in for the owners' own in a forecast.

Public ones, an owner's private ones inside its own walls, or, as the weakest evidence, rows generated
from nothing but the treaty's public bounds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.records import Counts, Dictionary, DictionaryTerms, Feature, Number, Source, Target
from treaty.records.encoder import encode
from treaty.records.fitting import bounds_dictionary, digest, fit_dictionary

Kind = Literal["public", "private", "generated"]
GENERATED_ROWS = 5_000
FEWEST = 20


@dataclass(frozen=True, eq=False)
class StandIn:
    """Encoded rows, before the dictionary.

    Args:
        encoded: the encoded columns, shape (rows, columns).
        target: the encoded targets.
        kind: where the rows come from.
        owner: whose each row is, where the owners are known to differ; else None.
        exact: the very records of parties that make the forecast inside their own walls, encoded.
    """

    encoded: FloatArray
    target: FloatArray
    kind: Kind
    owner: "np.ndarray[tuple[int], np.dtype[np.str_]] | None" = None
    exact: Mapping[str, tuple[FloatArray, FloatArray]] = field(
        default_factory=dict[str, tuple[FloatArray, FloatArray]]
    )

    @property
    def rows(self) -> int:
        """How many rows."""
        return len(self.target)


@dataclass(frozen=True, eq=False)
class Fold:
    """Half of a stand-in, in features of a dictionary that was not fitted on it.

    Args:
        x: features.
        y: targets.
        owner: whose each row is, if known.
        exact: x and y of parties whose very records are at hand.
        others: the other half in the same features, None for that half itself.
    """

    x: FloatArray
    y: FloatArray
    owner: "np.ndarray[tuple[int], np.dtype[np.str_]] | None"
    exact: Mapping[str, tuple[FloatArray, FloatArray]]
    others: "Fold | None" = None


def read_stand_in(
    features: Mapping[str, Feature],
    target: Target,
    source: Source,
    *,
    private: bool = False,
    by: str | None = None,
) -> StandIn:
    """Read and encode stand-in rows.

    Args:
        features: the treaty's columns.
        target: the treaty's target.
        source: the file.
        private: whether they are somebody's private records.
        by: the column that says whose each row is, where owners differ.
    """
    encoded, targets, names = _encoded(features, target, source, by)
    if len(targets) < FEWEST:
        raise TreatyError(
            f"{source.label}: {len(targets)} stand-in rows are too few: at least {FEWEST} are needed"
        )
    return StandIn(
        encoded, targets, "private" if private else "public", np.array(names) if by else None
    )


def with_records_of(
    rows: StandIn, name: str, features: Mapping[str, Feature], target: Target, source: Source
) -> StandIn:
    """Return a stand-in in which one party need not be stood in for: these are its records."""
    encoded, targets, _ = _encoded(features, target, source, None)
    if not len(targets):
        raise TreatyError(f"{source.label}: there are no records in it")
    return replace(rows, exact={**rows.exact, name: (encoded, targets)})


def _encoded(
    features: Mapping[str, Feature], target: Target, source: Source, by: str | None
) -> tuple[FloatArray, FloatArray, list[str]]:
    counts = Counts()
    xs: list[FloatArray] = []
    ys: list[FloatArray] = []
    names: list[str] = []
    columns = [*features, target.column]
    if by is not None and by not in columns:
        columns.append(by)
    for frame in source.blocks(columns):
        try:
            xs.append(encode(features, frame, counts))
            ys.append(target.encode(frame[target.column], counts))
        except TreatyError as error:
            raise TreatyError(f"{source.label}: {error}") from error
        counts.rows += len(frame)
        if by:
            names += [str(name) for name in frame[by].to_list()]
    if not xs:
        return np.zeros((0, 0)), np.zeros(0), []
    return np.concatenate(xs), np.concatenate(ys), names


def generated_stand_in(features: Mapping[str, Feature], target: Target, seed: int = 0) -> StandIn:
    """Make rows from public bounds alone: no column knows of another, nor of the target."""
    random = np.random.default_rng(seed)
    n = GENERATED_ROWS
    parts: list[FloatArray] = []
    for feature in features.values():
        options = feature.options()
        if isinstance(feature, Number):
            low, high = options[:, 0]
            value = 0.5 * (low + high) + (high - low) / 6 * random.standard_normal(n)
            parts.append(np.clip(value, low, high)[:, None])
        else:
            parts.append(options[random.integers(len(options), size=n)])
    low, high = target.interval
    y = np.clip(0.5 * (low + high) + (high - low) / 6 * random.standard_normal(n), low, high)
    if target.bounds is None:
        y = np.where(y > 0, 1.0, -1.0)
    return StandIn(np.hstack(parts), y, "generated")


def cross_fitted(
    terms: DictionaryTerms,
    features: Mapping[str, Feature],
    fitted: Dictionary,
    stand_in: StandIn,
    folds: int,
    seed: int = 0,
) -> list[Fold]:
    """Cut a stand-in into random halves, each in features of a dictionary fitted on the other.

    A dictionary that saw the very rows it is then judged on makes their Hessian the identity and the
    forecast too rosy. Halves keep both errors small: that of the dictionary, and that of the rows it
    is judged on. Where the treaty's dictionary was fitted on other rows, or on none, it is used as it
    is. The radius stays the treaty's own: it is what the noise is made for.

    Args:
        terms: what the parties agreed on about the dictionary.
        features: the columns.
        fitted: the treaty's dictionary.
        stand_in: the rows.
        folds: how many halves, an even number: every cut gives two.
        seed: of the cuts.
    """
    random = np.random.default_rng(seed)
    refit = terms.needs_public_rows and fitted.fitted_on == digest(stand_in.encoded)
    made: list[Fold] = []
    for _ in range(folds // 2):
        order = random.permutation(stand_in.rows)
        one, two = np.array_split(order, 2)
        for part, others in ((one, two), (two, one)):
            dictionary = fitted
            if refit:
                own = fit_dictionary(terms, features, stand_in.encoded[others])
                dictionary = own.model_copy(update={"radius": fitted.radius})
            apart = _fold(dictionary, stand_in, others, None)
            made.append(_fold(dictionary, stand_in, part, apart))
    return made


def _fold(dictionary: Dictionary, stand_in: StandIn, rows: IntArray, others: Fold | None) -> Fold:
    x, _ = dictionary.apply(stand_in.encoded[rows])
    owner = None if stand_in.owner is None else stand_in.owner[rows]
    exact = {
        name: (np.ascontiguousarray(dictionary.apply(encoded)[0]), target)
        for name, (encoded, target) in stand_in.exact.items()
    }
    return Fold(np.ascontiguousarray(x), stand_in.target[rows], owner, exact, others)


def dictionary_of(
    terms: DictionaryTerms, features: Mapping[str, Feature], stand_in: StandIn
) -> Dictionary:
    """Return the dictionary the parties would fit, were the stand-in their public rows."""
    if terms.needs_public_rows:
        return fit_dictionary(terms, features, stand_in.encoded)
    return bounds_dictionary(terms, features)
