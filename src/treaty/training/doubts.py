"""What to doubt about records before anything is computed: columns and labels that say nothing.

All of it is computed from the records: it is for the eyes of whoever holds them.
"""

import math
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import polars as pl

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.records import Counts, FrameSource, OneHot, Ordinal, Source
from treaty.records.values import positions
from treaty.terms import Treaty, encoder_of, fit
from treaty.views import some

ONE_SIDED = 0.9999
"""From this share on, a label is as good as always the same."""
ENOUGH = 50
"""From so many rows on, it can be told whether anything can be predicted."""
MOST = 5_000
"""So many rows are looked at for that."""
BEYOND_CHANCE = 2.0
"""A correlation of so many standard errors is taken for one."""
TINY = 1e-12


def doubts(treaty: Treaty, records: Mapping[str, Source]) -> list[str]:
    """Return one sentence for each thing that is probably not meant.

    Args:
        treaty: the treaty.
        records: of each owner; or public rows, by whatever name.
    """
    frames = {name: _first(treaty, source) for name, source in records.items()}
    frames = {name: frame for name, frame in frames.items() if len(frame) > 1}
    if not frames:
        return []
    return [
        *_one_value_each(treaty, frames),
        *_unknown(treaty, frames),
        *_one_sided(treaty, frames),
        *_constant(treaty, frames),
    ]


def counted(treaty: Treaty, own: Mapping[str, Source]) -> list[str]:
    """Return one sentence for each owner that has other numbers of records than the treaty says.

    Args:
        treaty: the treaty.
        own: records of parties, by name.
    """
    said: list[str] = []
    for party in treaty.parties:
        source = own.get(party.name)
        if source is None:
            continue
        rows = sum(
            len(block) for block in source.stated(treaty.dialect).blocks([treaty.target.column])
        )
        if rows != party.records:
            said.append(
                f"{source.label}: there are {rows:,} records, and the treaty says that {party.name} "
                f"holds {party.records:,}: is this the file of {party.name} alone?"
            )
    return said


def _first(treaty: Treaty, source: Source) -> pl.DataFrame:
    """Return the first block of records."""
    columns = [*treaty.features, treaty.target.column]
    return next(
        source.stated(treaty.dialect).blocks(columns),
        pl.DataFrame(schema=dict.fromkeys(columns, pl.Null)),
    )


def _one_value_each(treaty: Treaty, frames: Mapping[str, pl.DataFrame]) -> list[str]:
    """Columns that tell owners apart and nothing else."""
    if len(frames) < 2:
        return []
    said: list[str] = []
    for column in treaty.features:
        values = [frame[column].unique().cast(pl.String).to_list() for frame in frames.values()]
        if any(len(each) > 1 for each in values):
            continue
        different = {each[0] for each in values}
        if len(different) == len(frames):
            said.append(f"{column} is another value for every owner: it says whose a record is")
        elif len(different) > 1:
            said.append(
                f"{column} is one value within each owner: what it does cannot be told from who they are"
            )
    return said


def _unknown(treaty: Treaty, frames: Mapping[str, pl.DataFrame]) -> list[str]:
    """Lists of categories that know nothing of what is there."""
    said: list[str] = []
    for column, feature in treaty.features.items():
        if not isinstance(feature, OneHot | Ordinal):
            continue
        lost = [
            name
            for name, frame in frames.items()
            if frame[column].null_count() < len(frame)
            and positions(column, frame[column], feature.categories, Counts()).max() < 0
        ]
        if lost:
            said.append(
                f"{column}: the treaty's categories know none of the values of {some(lost)}: are they "
                f"written as in the treaty, such as {feature.categories[0]!r}?"
            )
    return said


def _one_sided(treaty: Treaty, frames: Mapping[str, pl.DataFrame]) -> list[str]:
    """Labels that are nearly always the same."""
    if treaty.target.bounds is not None:
        return []
    column = treaty.target.column
    try:
        labels = {n: treaty.target.encode(f[column], Counts()) for n, f in frames.items()}
    except TreatyError:  # told, with its file, when the rows are read in earnest
        return []
    everybody = np.concatenate(list(labels.values()))
    share = float(max(np.mean(everybody > 0), np.mean(everybody < 0)))
    if share >= ONE_SIDED:
        return [
            f"{column} is the same label in {100 * share:.4g}% of {len(everybody):,} records: nothing "
            "can be learnt about the other; gather more of these, or predict something else"
        ]
    alike = [n for n, each in labels.items() if len(each) >= ENOUGH and len(np.unique(each)) == 1]
    if not alike:
        return []
    return [
        f"{column} is the same label in all records of {some(alike)}: is it written as in the treaty?"
    ]


def _constant(treaty: Treaty, frames: Mapping[str, pl.DataFrame]) -> list[str]:
    """Targets that no column tells anything about."""
    rows = pl.concat(list(frames.values()), how="vertical_relaxed")
    rows = rows.sample(min(len(rows), MOST), shuffle=True, seed=0)
    try:
        encoder = encoder_of(fit(treaty, FrameSource(rows)))
        x, y = encoder.x(rows), treaty.target.encode(rows[treaty.target.column], Counts())
    except TreatyError:  # told when the rows are read in earnest
        return []
    if len(rows) < ENOUGH or len(np.unique(y)) < 2:
        return []
    if _any_signal(x, y):
        return []
    return [
        f"The best model of {len(rows):,} records is a constant: no column tells anything about "
        f"{treaty.target.column}"
    ]


def _any_signal(x: FloatArray, y: FloatArray) -> bool:
    """Whether predictions go with what is true of rows that the model has not seen, beyond chance."""
    from sklearn import model_selection
    from sklearn.linear_model import RidgeCV

    parts: Any = cast(Any, model_selection).KFold(5, shuffle=True, random_state=0)
    together: list[float] = []
    for seen, unseen in parts.split(x):
        told = cast(Any, RidgeCV(np.logspace(-3, 6, 10)).fit(x[seen], y[seen])).predict(x[unseen])
        alike = np.std(told) < TINY or np.std(y[unseen]) < TINY
        together.append(0.0 if alike else float(np.corrcoef(told, y[unseen])[0, 1]))
    return float(np.mean(together)) * math.sqrt(len(y)) > BEYOND_CHANCE
