"""Stand-in rows: records that stand in for the owners' own in a forecast.

Public ones, an owner's private ones inside its own walls, or, as the weakest evidence, rows generated
from nothing but the treaty's public bounds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.records import Counts, Feature, Number, Source, Target
from treaty.records.encoder import encode

EvidenceKind = Literal["public", "private", "generated"]
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
    kind: EvidenceKind
    owner: "np.ndarray[tuple[int], np.dtype[np.str_]] | None" = None
    exact: Mapping[str, tuple[FloatArray, FloatArray]] = field(
        default_factory=dict[str, tuple[FloatArray, FloatArray]]
    )

    @property
    def rows(self) -> int:
        """How many rows."""
        return len(self.target)


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
