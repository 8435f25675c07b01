"""Dates and times as parts of them."""

import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treaty.errors import TreatyError
from treaty.records import Counts, Date, DictionaryTerms, bounds_dictionary
from treaty.records.dates import as_dates

WHOLE = Date(kind="date", parts=("year", "month", "weekday", "hour"), years=(2020, 2024))


def _encoded(feature: Date, values: pl.Series) -> tuple[np.ndarray, Counts]:
    out, counts = np.full((len(values), feature.width), np.nan), Counts()
    feature.encode("t", values, out, counts)
    return out, counts


def _named(feature: Date, row: np.ndarray) -> list[str]:
    return [name for name, value in zip(feature.names("t"), row, strict=True) if value]


def test_by_hand():
    texts = pl.Series(["2021-03-04", "2030-01-01 05:00:00", None, "2022-12-31T23:10"])
    out, counts = _encoded(WHOLE, texts)
    assert _named(WHOLE, out[0]) == ["t year", "t month=3", "t weekday=Thursday", "t hour=0"]
    assert _named(WHOLE, out[1]) == ["t year", "t month=1", "t weekday=Tuesday", "t hour=5"]
    assert _named(WHOLE, out[2]) == []
    assert out[:, 0].tolist() == [-0.5, 1.0, 0.0, 0.0]
    assert (counts.clamped["t"], counts.missing["t"]) == (1, 1)


@given(st.datetimes(datetime.datetime(1990, 1, 1), datetime.datetime(2050, 1, 1)))
def test_texts_and_times_are_read_alike_and_stay_inside_their_bounds(moment):
    of_time, _ = _encoded(WHOLE, pl.Series([moment]))
    of_text, _ = _encoded(WHOLE, pl.Series([moment.isoformat(" ")]))
    assert (of_time == of_text).all()
    dictionary = bounds_dictionary(DictionaryTerms(), {"t": WHOLE})
    x, _ = dictionary.apply(of_time)
    l1, l2 = dictionary.norm_bounds({"t": WHOLE})
    assert np.abs(x).sum() <= l1
    assert np.linalg.norm(x) <= l2
    assert np.isclose(l1, 1 + 3 + 1)  # the year, one of each, the constant


@pytest.mark.parametrize("zone", ["Z", "+02:00", "-0530", " +01", ""])
@pytest.mark.parametrize("between", ["T", " "])
def test_the_hour_is_the_one_on_the_clock_whatever_the_zone(zone, between):
    written = pl.Series([f"2013-01-02{between}10:30:00{zone}", f"2013-01-02{between}23:00{zone}"])
    assert as_dates("when", written, Counts()).dt.hour().to_list() == [10, 23]


def test_a_format_of_ones_own():
    german = Date(kind="date", parts=("month",), format="%d.%m.%Y")
    out, _ = _encoded(german, pl.Series(["04.03.2021"]))
    assert _named(german, out[0]) == ["t month=3"]
    with pytest.raises(TreatyError, match=r"written as %d.%m.%Y, but row 1 holds '2021-03-04'"):
        _encoded(german, pl.Series(["2021-03-04"]))
    with pytest.raises(TreatyError, match=r"written as 2024-12-31, but row 2 holds '04.03.2021'"):
        _encoded(WHOLE, pl.Series(["2021-03-04", "04.03.2021"]))
    missing = german.model_copy(update={"texts": "missing"})
    assert _encoded(missing, pl.Series(["?"]))[1].missing["t"] == 1
    with pytest.raises(TreatyError, match=r"row 1 holds '3': .*kind = .number."):
        _encoded(WHOLE, pl.Series([3]))


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        ({"parts": ("year",)}, "years = "),
        ({"parts": ("month",), "years": (2020, 2021)}, "years = "),
        ({"parts": ("month", "month")}, "every part of a date is written once"),
        ({"parts": ("year",), "years": (2021, 2021)}, "the first of the years must lie before"),
    ],
)
def test_what_makes_no_sense_is_refused(terms, says):
    with pytest.raises(ValueError, match=says):
        Date(kind="date", **terms)
