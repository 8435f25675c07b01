"""What to propose for each column of public rows: how it becomes numbers, or why it is left out."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.records import Counts, Date, Feature, Number, OneHot
from treaty.records.cells import TRUTHS
from treaty.records.dates import ISO, ZONE, Part, as_dates, read_as
from treaty.records.values import YES_OR_NO, as_numbers, as_truth

MOST_CATEGORIES = 200
FEW_TEXTS = 50
"""A column of so few texts is one of categories, even if they look like numbers."""
OFTEN = 3
"""A text that fewer of the rows have is no category."""
REACH = 3.0
"""Bounds lie so many times as far from the middle as the extremes of the rows."""
STRAY = 0.1
"""Up to this share of texts among numbers, or among dates, are strays."""
FEWEST_IDENTIFIED = 200
"""From so many rows on, whole numbers that all differ and lie evenly are taken for identifiers."""
EVENLY = 0.15
"""Numbers lie evenly if no share of them is so much more, or less, than that of their range."""
FEWEST_CODES, MOST_CODES = 3, 9
"""A column of so many different whole numbers may be one of codes."""
FORMATS = ("%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%Y/%m/%d", "%d %b %Y", "%d %B %Y")
DAY_FIRST = ("%d/%m/%Y", "%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%d-%m-%Y", "%d/%m/%y")
MONTH_FIRST = ("%m/%d/%Y", "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%m-%d-%Y", "%m/%d/%y")
OTHERS = (pl.Time, pl.Duration, pl.Binary, pl.Object)
"""Types of columns that no feature is made of."""
_LIKE_AN_INDEX = re.compile(
    r"(unnamed(: ?\d+)?|index|__index_level_\d+__|level_\d+|row ?n(o|r|umber)?|)"
)
_LIKE_AN_IDENTIFIER = re.compile(
    r"(^|.*[\W_])(id|ids|key|uuid|guid|nr|no|number|code)|.*[a-z](Id|ID)"
)


@dataclass(frozen=True, eq=False)
class Proposal:
    """What a column is proposed as.

    Args:
        column: its name.
        feature: how it becomes numbers; None if it is left out.
        note: why it is left out, or what to know about it; for people.
    """

    column: str
    feature: Feature | None
    note: str = ""


def propose(values: pl.Series, *, has_types: bool) -> Proposal:
    """Propose how a column of public rows becomes numbers.

    Args:
        values: the column.
        has_types: whether the source says what its columns hold: then few texts are categories, even if
            they look like numbers.
    """
    column = values.name
    if values.dtype.is_nested() or isinstance(values.dtype, OTHERS):
        kind = values.dtype.base_type().__name__
        return Proposal(column, None, f"is left out: a column of type {kind}")
    distinct = values.n_unique() - (values.null_count() > 0)
    if distinct < 2:
        return Proposal(column, None, "is left out: it is constant here")
    if _identifies(values, distinct):
        return Proposal(
            column, None, f"is left out: {distinct:,} different values, like an identifier"
        )
    dated = _date(column, values, None) if values.dtype.is_temporal() else _dates(values)
    if dated is not None:
        return dated
    words = _words(values)
    numbers, stray = _numbers(values, words)
    if numbers is not None and not (_few_texts(values) and (has_types or _codes(values, words))):
        low, high = outward(numbers)
        few = ", ".join(f"{number:g}" for number in whole_few(values))
        if few and not stray:
            stray_note = f'holds {few} alone, a number: write kind = "one-hot" if these are codes'
        else:
            stray_note = stray
        return Proposal(
            column,
            Number(
                bounds=(low, high),
                log1p=_skewed(numbers),
                texts="missing" if stray else "refused",
                words=words or None,
            ),
            stray_note,
        )
    known = _categories(values)
    if known:
        return Proposal(column, OneHot(kind="one-hot", categories=tuple(known)))
    return Proposal(column, None, f"is left out: {distinct:,} different texts, none often")


def labels_of(values: pl.Series) -> list[str] | None:
    """Return the two labels of a column, the negative one first; None if there are not two.

    Numbers and the usual words for no and yes say which is which; of other texts the rarer is positive.
    """
    found = sorted(values.drop_nulls().unique().to_list(), key=str)
    if len(found) != 2:
        return None
    sides = [as_truth(str(value)) for value in found]
    if any(math.isnan(side) for side in sides):
        found.sort(key=lambda value: -int((values == value).sum()))
    elif sides[0] > sides[1]:
        found.reverse()
    texts = [f"{value:g}" if isinstance(value, float) else str(value).strip() for value in found]
    return [text.lower() if text in ("True", "False") else text for text in texts]


def outward(numbers: FloatArray) -> tuple[float, float]:
    """Return bounds far around all values, rounded outward to two digits of their range.

    Other records have values beyond those of a few rows: there is room for three times as far from the
    middle. Where nothing lies below 0, nothing is expected to.
    """
    least, middle, most = (float(q) for q in np.quantile(numbers, (0.0, 0.5, 1.0)))
    low, high = middle - REACH * (middle - least), middle + REACH * (most - middle)
    low = max(low, 0.0) if least >= 0 else low
    if set(np.unique(numbers).tolist()) <= {0.0, 1.0}:
        return 0.0, 1.0
    span = high - low if high > low else max(abs(high), 1.0)
    unit = 10.0 ** (math.floor(math.log10(span)) - 1)
    low, high = math.floor(low / unit) * unit, math.ceil(high / unit) * unit
    if low == high:
        high = low + unit
    return float(f"{low:.6g}"), float(f"{high:.6g}")


def _identifies(values: pl.Series, distinct: int) -> bool:
    """Whether a column numbers the rows, or names them one by one."""
    there = len(values) - values.null_count()
    if _LIKE_AN_INDEX.fullmatch(values.name.strip().lower()) and distinct == there:
        return True
    whole = values.dtype.is_integer()
    if values.dtype == pl.String:
        whole = bool(values.drop_nulls().str.contains(r"^\s*\d+\s*$").all())
    if not whole and not (values.dtype == pl.String and distinct > 0.5 * there):
        return False
    named = _LIKE_AN_IDENTIFIER.fullmatch(values.name.strip()) or _LIKE_AN_IDENTIFIER.fullmatch(
        values.name.strip().lower()
    )
    if named and there >= 20 and distinct > 0.9 * there:
        return True
    if not (whole and distinct == there and there >= FEWEST_IDENTIFIED):
        return False
    return _evenly(values.drop_nulls().cast(pl.String).str.strip_chars().cast(pl.Float64))


def _evenly(values: pl.Series) -> bool:
    """Whether numbers lie evenly between the first and the last, as those that are given out do.

    Amounts of money may all be different, too, but most of them are small.
    """
    numbers = np.sort(values.to_numpy())
    along = (numbers - numbers[0]) / (numbers[-1] - numbers[0])
    return bool(np.abs(along - np.linspace(0, 1, len(along))).max() < EVENLY)


def whole_few(values: pl.Series) -> list[float]:
    """Return the whole numbers that a column is made of, if these are three to nine."""
    try:
        numbers = as_numbers(values.name, values, Counts())
    except TreatyError:
        return []
    found = np.unique(numbers[np.isfinite(numbers)])
    few = FEWEST_CODES <= len(found) <= MOST_CODES and bool(np.all(found == np.round(found)))
    return found.tolist() if few else []


def _codes(values: pl.Series, words: dict[str, float]) -> bool:
    """Whether texts that stand often among numbers say that all are codes, as 0 to 9, V and E."""
    cells = values.drop_nulls().str.strip_chars()
    texts = cells.filter(cells.cast(pl.Float64, strict=False).is_null())
    texts = texts.filter(~texts.str.to_lowercase().is_in([*words, *TRUTHS]))
    counted = texts.value_counts(name="count")["count"]
    return bool((counted >= OFTEN).any())


def _words(values: pl.Series) -> dict[str, float]:
    """Return the words for yes and no that a column is made of, and what they stand for."""
    if values.dtype != pl.String:
        return {}
    cells = values.drop_nulls().str.strip_chars().str.to_lowercase()
    known = cells.is_in(list(YES_OR_NO))
    if not len(cells) or known.sum() < (1 - STRAY) * len(cells):
        return {}
    found = sorted(cells.filter(known).unique().to_list(), key=lambda word: YES_OR_NO[word])
    return {str(word): YES_OR_NO[word] for word in found if word not in TRUTHS}


def _numbers(values: pl.Series, words: dict[str, float]) -> tuple[FloatArray | None, str]:
    """Return a column's numbers, and a note if a few texts are among them."""
    note = ""
    try:
        numbers = as_numbers(values.name, values, Counts(), words=words)
    except TreatyError:
        if values.dtype != pl.String:
            return None, ""
        numbers = as_numbers(values.name, values, Counts(), "missing", words=words)
        stray = np.flatnonzero(np.isnan(numbers) & values.is_not_null().to_numpy())
        if len(stray) > STRAY * (len(values) - values.null_count()):
            return None, ""
        note = f"row {stray[0] + 1:,} holds {values[int(stray[0])]!r}: texts count as missing"
    finite = numbers[np.isfinite(numbers)]
    return (finite if len(finite) else None), note


def _dates(values: pl.Series) -> Proposal | None:
    """Return texts as dates, if most of them are."""
    if values.dtype != pl.String:
        return None
    written = values.drop_nulls().str.strip_chars().head(1_000)
    looks = written.str.contains(r"^\d{1,4}[-./ ](\d{1,2}|[A-Za-z]+)[-./ ]\d{2,4}").mean()
    if not isinstance(looks, float) or looks < 1 - STRAY:
        return None
    if _share(written.str.replace(ZONE, "$1"), ISO) >= 1 - STRAY:
        return _date(values.name, values, None)
    for form in FORMATS:
        if _share(written, [form]) >= 1 - STRAY:
            return _date(values.name, values, form)
    for day, month in zip(DAY_FIRST, MONTH_FIRST, strict=True):
        first, second = _share(written, [day]), _share(written, [month])
        if max(first, second) < 1 - STRAY:
            continue
        if first == second:
            return Proposal(
                values.name,
                None,
                f"is left out: in {written[0]!r} the day or the month may come first; write "
                f'kind = "date" with format = "{day}" or "{month}"',
            )
        return _date(values.name, values, day if first > second else month)
    return None


def _share(written: pl.Series, formats: Sequence[str]) -> float:
    read = pl.select(pl.coalesce([read_as(written, form) for form in formats])).to_series()
    return 1.0 - read.null_count() / max(len(written), 1)


def _date(column: str, values: pl.Series, form: str | None) -> Proposal:
    """Return a column of dates as those parts of them that vary."""
    dates = as_dates(column, values, Counts(), form, "missing")
    written, note = values.is_not_null() & dates.is_null(), ""
    if written.any():
        row = int(written.arg_true()[0])
        note = f"row {row + 1:,} holds {values[row]!r}: what is no date counts as missing"
    known = dates.drop_nulls()
    parts: list[Part] = []
    part: Part
    for part in ("year", "month", "weekday", "hour"):
        if getattr(known.dt, part)().n_unique() > 1:
            parts.append(part)
    if not parts:
        return Proposal(column, None, "is left out: all its dates are alike")
    years = None
    if "year" in parts:
        found = known.dt.year().to_numpy()
        years = (int(found.min()) - 1, int(found.max()) + 1)
    feature = Date(
        kind="date",
        parts=tuple(parts),
        years=years,
        format=form,
        texts="missing" if note else "refused",
    )
    return Proposal(column, feature, note)


def _few_texts(values: pl.Series) -> bool:
    return values.dtype == pl.String and values.n_unique() <= FEW_TEXTS


def _categories(values: pl.Series) -> list[str]:
    """Return the most frequent texts."""
    counted = values.cast(pl.String).drop_nulls().value_counts(sort=True, name="count")
    often = counted.filter(pl.col("count") >= OFTEN).head(MOST_CATEGORIES)
    return sorted(str(name) for name in often[values.name])


def _skewed(numbers: FloatArray) -> bool:
    """Whether a long tail to the right would be better on a logarithmic scale."""
    return bool(numbers.min() >= 0 and numbers.max() > 50 * max(float(np.median(numbers)), 1.0))
