import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from treaty.errors import TreatyError
from treaty.records import Counts, Hats, Number, OneHot, Ordinal, Target


def _encode(feature, values) -> tuple[np.ndarray, Counts]:
    counts = Counts()
    series = values if isinstance(values, pl.Series) else pl.Series("c", values)
    out = np.empty((len(series), feature.width), order="F")
    feature.encode("c", series, out, counts)
    return out, counts


def test_numbers_are_clamped_filled_and_counted():
    out, counts = _encode(Number(bounds=(0, 10)), [-5.0, 3.0, None, 12.0, math.nan, math.inf])
    assert out[:, 0].tolist() == [0, 3, 5, 10, 5, 10]
    assert counts.clamped["c"] == 3
    assert counts.missing["c"] == 2


def test_a_stated_substitute_for_missing_values():
    out, _ = _encode(Number(bounds=(0, 10), missing=2.0), [None, 1.0])
    assert out[:, 0].tolist() == [2.0, 1.0]
    out, _ = _encode(Number(bounds=(0, 10), missing=99.0), [None, 1.0])
    assert out[:, 0].tolist() == [10.0, 1.0]


def test_log1p_after_clamping():
    out, _ = _encode(Number(bounds=(0, math.e - 1), log1p=True), [100.0, 0.0, -3.0])
    assert out[:, 0].tolist() == pytest.approx([1.0, 0.0, 0.0])


def test_text_that_holds_numbers_is_read_and_other_text_named_with_its_row():
    out, _ = _encode(Number(bounds=(0, 10)), [" 1.5", "2e0", None, ""])
    assert out[:, 0].tolist() == [1.5, 2.0, 5.0, 5.0]
    with pytest.raises(TreatyError, match=r'column "c" must hold numbers, but row 2 holds \'abc\''):
        _encode(Number(bounds=(0, 10)), ["1", "abc"])
    with pytest.raises(TreatyError, match="values of type Date"):
        _encode(Number(bounds=(0, 1)), pl.Series("c", ["2024-01-01"]).str.to_date())


def test_booleans_and_integers_are_numbers():
    assert _encode(Number(bounds=(0, 1)), [True, False, None])[0][:, 0].tolist() == [1, 0, 0.5]
    assert _encode(Number(bounds=(0, 9)), pl.Series("c", [3], pl.Int8))[0][0, 0] == 3


def test_one_hot():
    out, counts = _encode(OneHot(kind="one-hot", categories=("a", "b")), ["b", "z", None, "a"])
    assert out.tolist() == [[0, 1], [0, 0], [0, 0], [1, 0]]
    assert (counts.unknown["c"], counts.missing["c"]) == (1, 1)


def test_ordinal():
    feature = Ordinal(kind="ordinal", categories=("low", "mid", "high"))
    out, counts = _encode(feature, ["high", "low", "mid", "odd", None])
    assert out[:, 0].tolist() == [1, -1, 0, 0, 0]
    assert (counts.unknown["c"], counts.missing["c"]) == (1, 1)


def test_categories_of_numbers_and_polars_categoricals():
    feature = OneHot(kind="one-hot", categories=("1", "2"))
    assert _encode(feature, [2, 1])[0].tolist() == [[0, 1], [1, 0]]
    categorical = pl.Series("c", ["1", "2"], pl.Categorical)
    assert _encode(feature, categorical)[0].tolist() == [[1, 0], [0, 1]]


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True) | st.none(), min_size=1))
def test_whatever_comes_lies_between_the_extreme_points(values):
    for feature in (Number(bounds=(-2, 3)), Number(bounds=(0, 3), log1p=True)):
        out, _ = _encode(feature, pl.Series("c", values, pl.Float64))
        options = feature.options()
        assert np.all(out >= options.min(axis=0))
        assert np.all(out <= options.max(axis=0))


def test_counts_speak():
    _, counts = _encode(Number(bounds=(0, 1)), [5.0, None])
    counts.rows, counts.scaled = 2, 1
    assert counts.notes() == [
        "c: 1 of 2 values clamped into the bounds",
        "c: 1 of 2 values missing, replaced",
        "1 of 2 records scaled into the public ball",
    ]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Number(bounds=(3, 1)), "lower bound 3 must be below the upper bound 1"),
        (lambda: Number(bounds=(1, 1)), "must be below"),
        (lambda: Number(bounds=(-2, 1), log1p=True), "lower bound above -1"),
        (lambda: OneHot(kind="one-hot", categories=("a", "a")), "listed twice"),
        (lambda: Ordinal(kind="ordinal", categories=("a",)), "at least 2"),
        (lambda: Number(bounds=(0, math.inf)), "finite"),
        (lambda: Target(column="y", bounds=(0, 1), labels=("0", "1")), "not both"),
        (lambda: Target(column="y", labels=("a", "a")), "the two labels are the same"),
        (lambda: Target(column="y", labels=("1", "1.0")), "the two labels are the same"),
        (lambda: Target(column="y", bounds=(1, 1 + 2**-52)), "too close"),
        (lambda: Number(bounds=(0, 1e300)), "may not exceed"),
    ],
)
def test_senseless_columns_are_refused(make, says):
    with pytest.raises(ValidationError, match=says):
        make()


def test_number_target_is_rescaled_and_comes_back():
    target, counts = Target(column="y", bounds=(10, 30)), Counts()
    y = target.encode(pl.Series("y", [10.0, 20.0, 35.0]), counts)
    assert y.tolist() == [-1, 0, 1]
    assert (counts.clamped["y"], counts.missing["y"]) == (1, 0)
    assert target.scaling == (20.0, 10.0)
    plain = Target(column="y", bounds=(10, 30), rescale=False)
    assert plain.encode(pl.Series("y", [12.0]), Counts()).tolist() == [12.0]
    assert plain.interval == (10.0, 30.0)


def test_a_missing_number_to_predict_is_refused_unless_something_stands_for_it():
    target, counts = Target(column="y", bounds=(10, 30)), Counts(rows=5)
    with pytest.raises(TreatyError, match="row 7 has no number there: leave such records out"):
        target.encode(pl.Series("y", [10.0, None]), counts)
    with pytest.raises(TreatyError, match="row 6 holds 'x': correct it, or leave that record out"):
        target.encode(pl.Series("y", ["x"]), counts)
    stood_in = Target(column="y", bounds=(10, 30), missing=15.0)
    assert stood_in.encode(pl.Series("y", [10.0, None]), counts).tolist() == [-1, -0.5]
    assert counts.missing["y"] == 1


def test_words_stand_for_numbers_where_the_treaty_says_so():
    column = Number(bounds=(0, 1), words={"Yes": 1, "no": 0})
    cells = pl.Series(["True", "no", " YES ", "1", "2"])
    assert column.numbers("a", cells, Counts()).tolist() == [1, 0, 1, 1, 2]
    with pytest.raises(TreatyError, match=r"row 2 holds 'no': .* words = "):
        Number(bounds=(0, 1)).numbers("a", pl.Series(["2.5", "no"]), Counts())
    with pytest.raises(ValueError, match="the word yes is listed twice"):
        Number(bounds=(0, 1), words={"Yes": 1, "yes": 0})


def test_a_stray_text_is_told_or_missing():
    values = pl.Series(["1", "n.a.", "3"])
    with pytest.raises(TreatyError, match=r"row 2 holds 'n\.a\.': correct it, or write texts"):
        Number(bounds=(0, 4)).numbers("a", values, Counts())
    counts, out = Counts(), np.empty((3, 1))
    Number(bounds=(0, 4), texts="missing").encode("a", values, out, counts)
    assert out[:, 0].tolist() == [1, 2, 3]
    assert counts.missing["a"] == 1
    out = np.empty((3, 2))
    hats = Hats(kind="hats", bounds=(0, 4), knots=(0, 4), texts="missing")
    hats.encode("a", values, out, counts)
    assert out.tolist() == [[0.75, 0.25], [0, 0], [0.25, 0.75]]


@pytest.mark.parametrize(
    ("labels", "values", "expected"),
    [
        (None, [-1, 1, 1], [-1, 1, 1]),
        (("false", "true"), ["True", "no", "0", "1.0"], [1, -1, -1, 1]),
        (("no", "yes"), [True, False], [1, -1]),
        (("0", "1"), ["yes", "0.0"], [1, -1]),
        (None, [-1.0, 1.0], [-1, 1]),
        (("0", "1"), [0, 1], [-1, 1]),
        (("no", "yes"), ["yes", "no"], [1, -1]),
        (("false", "true"), [True, False], [1, -1]),
    ],
)
def test_labels(labels, values, expected):
    target = Target(column="y", labels=labels)
    assert target.encode(pl.Series("y", values), Counts()).tolist() == expected


@pytest.mark.parametrize("values", [[1, 0, -1], [1.0, None], ["1", "x"]])
def test_a_label_outside_the_two_is_named_with_its_row(values):
    with pytest.raises(TreatyError, match='column "y" must hold the labels -1 and 1, but row'):
        Target(column="y").encode(pl.Series("y", values), Counts())
