"""A first draft of a treaty, from the columns of a file."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from treaty.errors import TreatyError
from treaty.records import Counts, Source
from treaty.records.values import as_number, as_numbers

MOST_CATEGORIES = 200
FEW_TEXTS = 50
"""A column of so few texts is one of categories, even if they look like numbers."""
OFTEN = 3
"""A text that fewer of the rows have is no category."""
ROWS_READ = 200_000
REACH = 3.0
"""Bounds lie so many times as far from the middle as the extremes of the rows."""


def blank_draft(source: Source, *, target: str, by: str | None) -> str:
    """Return a commented treaty from nothing but the names and types of a file's columns.

    No value of the file is read: bounds, categories, labels, owners and numbers of records are left to
    be filled in, and the treaty is not valid before they are.

    Args:
        source: the file.
        target: the column to predict.
        by: the column that names the owner, if there is one; it becomes no feature.
    """
    source.require([target, *([by] if by else [])])
    values = [name for name in source.schema if not math.isnan(as_number(name))]
    if values and not source.has_types:
        raise TreatyError(
            f"{source.label}: its first line holds a number, {values[0]}, and so may be a record "
            "instead of the names of columns: give a file with names"
        )
    parts = [_HEAD.format(file="private rows") + _TO_FILL_IN]
    for column, kind in source.schema.items():
        name = json.dumps(column)
        if column in (target, by):
            continue
        if kind.is_temporal() or kind.is_nested():
            parts.append(f"# {column} is left out: a column of type {kind.base_type().__name__}.\n")
        elif source.has_types and not (kind.is_numeric() or kind == pl.Boolean):
            parts.append(
                f'[features.{name}]\nkind = "one-hot"           # or ordinal\n'
                "# categories = [...]         # a public list\n"
            )
        else:
            kinds = "" if source.has_types else "          # or one-hot, ordinal"
            parts.append(
                f'[features.{name}]\nkind = "number"{kinds}\n'
                "# bounds = [low, high]       # public knowledge, not what the rows hold\n"
            )
    parts.append(_BLANK_TARGET.format(column=json.dumps(target)))
    parts.append(_MIDDLE.format(loss="squared"))
    parts.append(_BLANK_PARTY)
    return "\n".join(parts)


def draft(
    source: Source, *, target: str, by: str | None, owners: Mapping[str, int] | None = None
) -> str:
    """Return a commented treaty that fits the file: TOML, valid as it stands.

    Extremes, categories and owners of the rows go into it: they must be public.

    Args:
        source: public rows; the first 200,000 are read.
        target: the column to predict.
        by: the column that names the owner, if there is one; it becomes no feature.
        owners: the parties and how many records each has; if not given, those of the public rows.
    """
    source.require([target, *([by] if by and owners is None else [])])
    frame = _first_rows(source)
    if frame.height < 2:
        raise TreatyError(f"{source.label}: too few rows to draft a treaty from")
    labels = _two_labels(frame[target])
    parts = [
        _HEAD.format(file=Path(source.place).name),
        _features(frame, source.has_types, {target, by}),
    ]
    if labels is not None:
        parts.append(_LABEL_TARGET.format(column=json.dumps(target), labels=json.dumps(labels)))
        parts.append(_MIDDLE.format(loss="logistic"))
    else:
        numbers = _numbers(frame[target])
        if numbers is None:
            raise TreatyError(
                f'column "{target}" holds neither numbers nor two labels, so it cannot be predicted'
            )
        low, high = _outward(numbers)
        parts.append(_NUMBER_TARGET.format(column=json.dumps(target), low=low, high=high))
        parts.append(_MIDDLE.format(loss="squared"))
    if owners is None:
        owners = source.owners(by) if by else {"us": frame.height}
    parts += [_PARTY.format(name=json.dumps(name), records=n) for name, n in owners.items()]
    return "\n".join(parts)


def _first_rows(source: Source) -> pl.DataFrame:
    taken: list[pl.DataFrame] = []
    for block in source.blocks(list(source.schema)):
        taken.append(block)
        if sum(part.height for part in taken) >= ROWS_READ:
            break
    return pl.concat(taken) if taken else pl.DataFrame(schema=source.schema)


def _features(frame: pl.DataFrame, has_types: bool, skip: set[str | None]) -> str:
    """Return the columns as a treaty writes them. Where columns have types, few texts are categories."""
    lines: list[str] = []
    for column in frame.columns:
        if column in skip:
            continue
        values = frame[column]
        distinct = values.n_unique() - (values.null_count() > 0)
        numbers = _numbers(values)
        name = json.dumps(column)
        if distinct < 2:
            lines.append(f"# {column} is left out: it is constant here.\n")
        elif numbers is not None and not (has_types and _few_texts(values)):
            low, high = _outward(numbers)
            log = "\nlog1p = true" if _skewed(numbers) else ""
            lines.append(f'[features.{name}]\nkind = "number"\nbounds = [{low}, {high}]{log}\n')
        elif known := _categories(values):
            listed = json.dumps(known)
            lines.append(f'[features.{name}]\nkind = "one-hot"\ncategories = {listed}\n')
        else:
            lines.append(f"# {column} is left out: {distinct:,} different texts, none often.\n")
    if not any(line.startswith("[") for line in lines):
        raise TreatyError("no column of this file can be a feature")
    return "\n".join(lines)


def _few_texts(values: pl.Series) -> bool:
    return values.dtype == pl.String and values.n_unique() <= FEW_TEXTS


def _categories(values: pl.Series) -> list[str]:
    """Return the most frequent texts."""
    counted = values.cast(pl.String).drop_nulls().value_counts(sort=True, name="count")
    often = counted.filter(pl.col("count") >= OFTEN).head(MOST_CATEGORIES)
    return sorted(str(name) for name in often[values.name])


def _numbers(values: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    if values.dtype.is_temporal():
        return None
    try:
        numbers = as_numbers(values.name, values, Counts())
    except TreatyError:
        return None
    finite = numbers[np.isfinite(numbers)]
    return finite if len(finite) else None


def _two_labels(values: pl.Series) -> list[str] | None:
    found = sorted(values.drop_nulls().unique().to_list(), key=str)
    if len(found) != 2:
        return None
    texts = [f"{value:g}" if isinstance(value, float) else str(value) for value in found]
    return [text.lower() if text in ("True", "False") else text for text in texts]


def _outward(numbers: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[str, str]:
    """Return bounds far around all values, rounded outward to two digits of their range.

    Other records have values beyond those of a few rows: there is room for three times as far from the
    middle. Where nothing lies below 0, nothing is expected to.
    """
    least, middle, most = (float(q) for q in np.quantile(numbers, (0.0, 0.5, 1.0)))
    low, high = middle - REACH * (middle - least), middle + REACH * (most - middle)
    low = max(low, 0.0) if least >= 0 else low
    span = high - low if high > low else max(abs(high), 1.0)
    unit = 10.0 ** (math.floor(math.log10(span)) - 1)
    low, high = math.floor(low / unit) * unit, math.ceil(high / unit) * unit
    if low == high:
        high = low + unit
    return f"{float(f'{low:.6g}')!r}", f"{float(f'{high:.6g}')!r}"


def _skewed(numbers: np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool:
    """Whether a long tail to the right would be better on a logarithmic scale."""
    return bool(numbers.min() >= 0 and numbers.max() > 50 * max(float(np.median(numbers)), 1.0))


_HEAD = """\
# A draft from {file}. A treaty is public: check that everything in it may be known to all.
version = 1
title = "Say in one line what is learnt"

# How a record becomes numbers. Values outside the bounds are clamped, missing ones are replaced by
# the middle (or by missing = ...), unknown categories count as none. No record is ever dropped.
"""

_TO_FILL_IN = """\
# Only names and types of columns were read: fill in every line that begins with "# ... =". Bounds and
# categories must be known to everybody already; never take them from private rows.
"""

_BLANK_TARGET = """\
[target]
column = {column}
# bounds = [low, high]       # a number; or labels = ["no", "yes"] and a logistic or hinge loss
"""

_BLANK_PARTY = """\
[[parties]]
name = "us"
# records = ...
epsilon = 1.0
"""

_NUMBER_TARGET = """\
[target]
column = {column}
bounds = [{low}, {high}]
"""

_LABEL_TARGET = """\
[target]
column = {column}
labels = {labels}         # the negative one first
"""

_MIDDLE = """\
# How columns become x. "bounds" needs no public rows; with some, "public" together with
# components, whiten and radius_quantile = 0.95 takes far less noise.
[dictionary]
standardise = "bounds"
norm = "l1"

[loss]
name = "{loss}"              # squared, huber for numbers; logistic, hinge for labels
clip = 1.0                   # every record's gradient; the noise is proportional to it
ridge = 1e-4
theta_max = 5.0

[training]
method = "averaged-subgradient"   # or shrinking-steps (smooth losses), one-at-a-time (asynchronous)
horizon = 20                 # how often each owner is asked; the noise is proportional to it
mechanism = "laplace"        # or gaussian, which needs a delta of every party

# Who takes part, with how many records and which privacy budget over the whole training.
"""

_PARTY = """\
[[parties]]
name = {name}
records = {records}
epsilon = 1.0
"""
