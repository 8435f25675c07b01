"""A first draft of a treaty, from the columns of a file."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from treaty.errors import TreatyError
from treaty.records import Counts, Dialect, Source, Target
from treaty.records.sources import named
from treaty.records.values import as_number
from treaty.terms.proposing import Proposal, labels_of, outward, propose, whole_few
from treaty.terms.toml import section_text

ROWS_READ = 200_000


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
    parts = [_HEAD.format(file="private rows", title=_text(f"Predict {target}")) + _TO_FILL_IN]
    for column, kind in source.schema.items():
        name = _text(column)
        if column in (target, by):
            continue
        if kind == pl.Date or isinstance(kind, pl.Datetime):
            parts.append(
                f'[features.{name}]\nkind = "date"\nparts = ["month", "weekday"]   # and year, hour\n'
                "# years = [first, last]      # with the part year\n"
            )
        elif kind.is_temporal() or kind.is_nested():
            parts.append(f"# {column} is left out: a column of type {kind.base_type().__name__}.\n")
        elif not source.has_types:
            parts.append(
                f"[features.{name}]          # the file does not say what it holds: one of these\n"
                '# kind = "number"            # with bounds = [low, high], public knowledge\n'
                '# kind = "one-hot"           # or ordinal, with categories = [...], a public list\n'
                '# kind = "date"              # with parts = ["month", "weekday"]\n'
            )
        elif not (kind.is_numeric() or kind == pl.Boolean):
            parts.append(
                f'[features.{name}]\nkind = "one-hot"           # or ordinal\n'
                "# categories = [...]         # a public list\n"
            )
        else:
            parts.append(
                f'[features.{name}]\nkind = "number"\n'
                "# bounds = [low, high]       # public knowledge, not what the rows hold\n"
            )
    parts.append(_BLANK_TARGET.format(column=_text(target)))
    parts.append(_MIDDLE.format(loss="squared"))
    parts.append(_BLANK_PARTY)
    return "\n".join(parts)


@dataclass(frozen=True, eq=False)
class Draft:
    """A first draft.

    Args:
        text: the treaty as TOML, valid as it stands.
        notes: what was left out or decided about columns, one sentence each, for people.
    """

    text: str
    notes: tuple[str, ...]


def draft(
    source: Source,
    *,
    target: str,
    by: str | None,
    owners: Mapping[str, int] | None = None,
    dialect: Dialect | None = None,
) -> Draft:
    """Return a commented treaty that fits the file: TOML, valid as it stands.

    Extremes, categories and owners of the rows go into it: they must be public.

    Args:
        source: public rows; the first 200,000 are read.
        target: the column to predict.
        by: the column that names the owner, if there is one; it becomes no feature.
        owners: the parties and how many records each has; if not given, those of the public rows.
        dialect: how the file is written, which the treaty then states.
    """
    source.require([target, *([by] if by and owners is None else [])])
    frame = _first_rows(source)
    if frame.height < 2:
        raise TreatyError(f"{source.label}: {frame.height} rows are too few to draft a treaty from")
    predicted = _target(source, frame[target])
    written: list[str] = []
    notes: list[str] = []
    if predicted.labels is not None:
        notes.append(
            f"{target}: what is told is {predicted.labels[1]!r} from {predicted.labels[0]!r}"
        )
    codes = _whole_few(frame[target]) if predicted.bounds is not None else ""
    if codes:
        notes.append(
            f"{target}: holds {codes} alone, and is predicted as a number: classes are two labels"
        )
    found = 0
    for column in frame.columns:
        if column in (target, by):
            continue
        proposal = _proposed(frame, column, by, has_types=source.has_types)
        note = f"{named(column)} {proposal.note}" if proposal.feature is None else ""
        note = f"{named(column)}: {proposal.note}" if proposal.feature and proposal.note else note
        notes += [note] if note else []
        lines = f"# {note}.\n" if note else ""
        if proposal.feature is not None:
            found += 1
            lines += section_text(("features", column), proposal.feature, "kind")
        written.append(lines)
    if not found:
        raise TreatyError(
            f"{source.label}: no column of this file can be a feature: each is constant, an identifier, "
            "or of texts that hardly repeat"
        )
    loss = "squared" if predicted.bounds is not None else "logistic"
    parts = [
        _HEAD.format(file=Path(source.place).name, title=_text(f"Predict {target}")),
        *_stated(dialect),
        *written,
        section_text(("target",), predicted, "column"),
        _MIDDLE.format(loss=loss),
    ]
    if owners is None:
        owners = source.owners(by) if by else {"us": frame.height}
    # The mean of one record is that record: who has no more cannot take part.
    parts += [_PARTY.format(name=_text(name), records=n) for name, n in owners.items() if n > 1]
    return Draft("\n".join(parts), tuple(notes))


def _whole_few(values: pl.Series) -> str:
    """Return the few whole numbers that a column is made of, in words, if it is."""
    found = whole_few(values)
    return ", ".join(f"{number:g}" for number in found) if found else ""


def _stated(dialect: Dialect | None) -> list[str]:
    """Return how text files are written, where a treaty has to state it."""
    if dialect is None or not dialect.words():
        return []
    return [_DIALECT + section_text(("dialect",), dialect)]


def _proposed(frame: pl.DataFrame, column: str, by: str | None, *, has_types: bool) -> Proposal:
    """Propose a column, unless it is the owner's name once more."""
    if by is not None and by in frame.columns and _copies(frame, column, by):
        return Proposal(column, None, f"is left out: it says the same as {by}, whose record it is")
    return propose(frame[column], has_types=has_types)


def _copies(frame: pl.DataFrame, column: str, by: str) -> bool:
    """Whether a column tells exactly who the owner is."""
    if frame[column].dtype.is_nested():
        return False
    pairs, owners = frame.select(column, by).n_unique(), frame[by].n_unique()
    return owners > 1 and pairs == owners and frame[column].n_unique() == owners


def _target(source: Source, values: pl.Series) -> Target:
    """Return how the column to predict is written: two labels, or a number with bounds."""
    labels = labels_of(values)
    absent = values.null_count()
    if absent:
        first = int(values.is_null().arg_true()[0]) + 1
        raise TreatyError(
            f"{source.label}: what is predicted is not known of {absent:,} of {len(values):,} rows, "
            f'first of row {first:,}: column "{values.name}" is empty there; leave '
            "these rows out"
        )
    if labels is not None:
        return Target(column=values.name, labels=(labels[0], labels[1]))
    if not values.dtype.is_nested() and values.n_unique() < 2:
        raise TreatyError(
            f'{source.label}: column "{values.name}" cannot be predicted: it is the same in every row, '
            f"{values[0]}; give rows in which it varies, or name another with `target`"
        )
    try:
        if values.dtype.is_nested() or values.dtype.is_temporal():
            raise TreatyError(
                f'column "{values.name}" holds values of type {values.dtype}: name another with `target`'
            )
        open_ended = Target(column=values.name, bounds=(-1.0, 1.0))
        numbers = open_ended.numbers(values, Counts())
    except TreatyError as error:
        if values.dtype == pl.String and values.n_unique() > 2:
            some = ", ".join(repr(each) for each in values.unique().sort().head(3).to_list())
            raise TreatyError(
                f"{source.label}: what is predicted must be a number, or one of two labels; column "
                f'"{values.name}" holds {values.n_unique()} different texts, such as {some}: name '
                "another with `target`, or make it one of two labels"
            ) from error
        raise TreatyError(
            f"{source.label}: what is predicted must be a number, or one of two labels ({error}); name "
            "another column with `target`"
        ) from error
    if len(np.unique(numbers)) < 2:  # one number, written in several ways
        raise TreatyError(
            f'{source.label}: column "{values.name}" cannot be predicted: it is the same in every row; '
            "name another with `target`"
        )
    return Target(column=values.name, bounds=outward(numbers[np.isfinite(numbers)]))


def _first_rows(source: Source) -> pl.DataFrame:
    taken: list[pl.DataFrame] = []
    for block in source.blocks(list(source.schema)):
        taken.append(block)
        if sum(part.height for part in taken) >= ROWS_READ:
            break
    return pl.concat(taken) if taken else pl.DataFrame(schema=source.schema)


def _text(value: str) -> str:
    """Return a text as TOML, its letters as they are."""
    return json.dumps(value, ensure_ascii=False)


_HEAD = """\
# A draft from {file}. A treaty is public: check that everything in it may be known to all.
version = 1
title = {title}

# How a record becomes numbers. Values outside the bounds are clamped, missing ones are replaced by
# the middle (or by missing = ...), unknown categories count as none. No record is ever dropped.
"""

_DIALECT = """\
# How text files are written, as these rows are. An owner whose file is written in another way states
# that in a source file of its own: treaty dialect FILE.
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
