"""What is proposed for the columns of public rows, and what is said about the rest."""

import datetime

import numpy as np
import polars as pl
import pytest

from treaty.errors import TreatyError
from treaty.records import Date, FrameSource, Number, OneHot
from treaty.terms import loads
from treaty.terms.draft import draft
from treaty.terms.proposing import labels_of, propose

N = 300
RANDOM = np.random.default_rng(0)
DAYS = [
    datetime.date(2020, 1, 1) + datetime.timedelta(days=int(d))
    for d in RANDOM.integers(900, size=N)
]


def _proposed(values, name: str = "c", *, has_types: bool = False):
    return propose(pl.Series(name, values), has_types=has_types)


@pytest.mark.parametrize("name", ["Unnamed: 0", "index", ""])
def test_an_index_is_no_feature(name):
    found = _proposed(list(range(20)), name)
    assert found.feature is None
    assert "like an identifier" in found.note


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (RANDOM.permutation(10_000)[:N].tolist(), "whatever"),
        ([f"{i:05d}" for i in RANDOM.permutation(10_000)[:N]], "case"),
        ([f"P{i}" for i in range(N)], "patient_id"),
        ([*range(N - 10), *range(10)], "PatientId"),
    ],
)
def test_identifiers_are_no_features(values, name):
    assert "like an identifier" in _proposed(values, name).note


AMOUNTS = np.cumsum(1 + (RANDOM.pareto(1.5, N) * 100).astype(int)) ** 2


@pytest.mark.parametrize(
    "values",
    [
        RANDOM.integers(0, 500, N).tolist(),
        RANDOM.random(N).tolist(),
        RANDOM.permutation(AMOUNTS).tolist(),  # all different, most of them small
        [str(amount) for amount in RANDOM.permutation(AMOUNTS)],
    ],
)
def test_numbers_are(values):
    assert isinstance(_proposed(values).feature, Number)


def test_dates_are_recognised_in_many_ways():
    for form in ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d %b %Y"):
        found = _proposed([day.strftime(form) for day in DAYS]).feature
        assert isinstance(found, Date), form
        assert found.parts == ("year", "month", "weekday")
        assert found.years == (2019, 2023)
        assert found.format == (None if form == "%Y-%m-%d" else form)
    assert isinstance(_proposed(DAYS, has_types=True).feature, Date)
    stray = _proposed([*(str(day) for day in DAYS), "unknown"])
    assert stray.feature.texts == "missing"
    assert stray.note == "row 301 holds 'unknown': what is no date counts as missing"
    both = _proposed(["01/02/2020", "03/04/2021", "05/06/2022"] * 10)
    assert both.feature is None
    assert "the day or the month may come first" in both.note
    alike = _proposed([datetime.date(2020, 1, 6 + 7 * (i % 2)) for i in range(N)], has_types=True)
    assert alike.note == "is left out: all its dates are alike"


def test_a_stray_text_is_told_and_the_column_stays():
    values = [str(round(x, 3)) for x in RANDOM.random(N)]
    values[16] = "see notes"
    found = _proposed(values)
    assert found.feature.texts == "missing"
    assert found.note == "row 17 holds 'see notes': texts count as missing"


def test_yes_and_no_are_numbers_in_csv_as_in_parquet():
    for values in (["True", "False"] * 20, [True, False] * 20, ["0", "1"] * 20):
        assert _proposed(values).feature == Number(bounds=(0.0, 1.0))
    words = {"no": 0.0, "yes": 1.0}
    assert _proposed(["Yes", "no"] * 20).feature == Number(bounds=(0.0, 1.0), words=words)


def test_categories_and_texts():
    assert _proposed(["a", "b", "c"] * 10).feature == OneHot(
        kind="one-hot", categories=("a", "b", "c")
    )
    said = _proposed([f"free text {i // 2}" for i in range(N)])
    assert said.note == "is left out: 150 different texts, none often"


def test_a_draft_says_what_it_left_out():
    frame = pl.DataFrame(
        {
            "Größe": RANDOM.random(N),
            "row": list(range(N)),
            "who": ["x", "y", "z"] * (N // 3),
            "who_again": ["X", "Y", "Z"] * (N // 3),
            "admitted": DAYS,
            "stay": RANDOM.random(N),
        }
    )
    found = draft(FrameSource(frame), target="stay", by="who")
    assert found.notes == (
        "row is left out: 300 different values, like an identifier",
        "who_again is left out: it says the same as who, whose record it is",
    )
    assert all(f"# {note}." in found.text for note in found.notes)
    assert '[features."Größe"]' in found.text  # letters as they are, not as codes
    document = loads(found.text)
    assert list(document.features) == ["Größe", "admitted"]
    assert {party.name: party.records for party in document.parties} == {
        "x": 100,
        "y": 100,
        "z": 100,
    }


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["yes", "no", "no"], ["no", "yes"]),
        (["no", "yes", "yes"], ["no", "yes"]),
        ([1, 0, 1], ["0", "1"]),
        (["ja", "nein", "nein"], ["nein", "ja"]),
        (["bad", "good", "good"], ["good", "bad"]),
    ],
)
def test_what_is_told_of_two_labels_is_yes_or_the_rarer_one(values, labels):
    assert labels_of(pl.Series("t", values)) == labels


def test_targets_that_cannot_be_predicted():
    frame = pl.DataFrame({"a": RANDOM.random(30), "t": ["x", "y", "z"] * 10, "c": [1.0] * 30})
    with pytest.raises(TreatyError, match='two labels; column "t" holds 3 different texts'):
        draft(FrameSource(frame), target="t", by=None)
    with pytest.raises(TreatyError, match="it is the same in every row"):
        draft(FrameSource(frame), target="c", by=None)
    holes = frame.with_columns(c=pl.Series([None, *RANDOM.random(29)]))
    with pytest.raises(
        TreatyError, match=r"of 1 of 30 rows, first of row 1: .*leave these rows out"
    ):
        draft(FrameSource(holes), target="c", by=None)


def test_a_column_without_a_name_is_spoken_of():
    frame = pl.DataFrame(
        {"": range(300), "a": np.linspace(-1, 1, 300), "y": np.linspace(0, 1, 300)}
    )
    found = draft(FrameSource(frame), target="y", by=None)
    assert (
        "a column without a name is left out: 300 different values, like an identifier"
        in found.notes
    )
    with pytest.raises(TreatyError, match='no column "z"; there are a column without a name, a, y'):
        draft(FrameSource(frame), target="z", by=None)


@pytest.mark.parametrize("values", [["alive"] * 30, [2.5] * 30, ["1", "1.0", "1.00"] * 10])
def test_what_does_not_vary_cannot_be_predicted(values):
    frame = pl.DataFrame({"a": np.linspace(-1, 1, 30), "y": values})
    with pytest.raises(TreatyError, match="cannot be predicted: it is the same in every row"):
        draft(FrameSource(frame), target="y", by=None)


def test_diagnosis_chapters_are_categories_and_not_numbers_with_strays():
    chapters = [str(k % 10) for k in range(190)] + ["V"] * 5 + ["E"] * 5
    feature = _proposed(chapters).feature
    assert isinstance(feature, OneHot)
    assert {"0", "9", "V", "E"} <= set(feature.categories)
    once = [str(k / 7) for k in range(199)] + ["unknown"]
    assert _proposed(once).feature.texts == "missing"


def test_few_whole_numbers_are_said_to_be_taken_as_a_number():
    said = _proposed([0, 1, 2] * 40)
    assert isinstance(said.feature, Number)
    assert said.note == 'holds 0, 1, 2 alone, a number: write kind = "one-hot" if these are codes'
    assert _proposed([0, 1] * 40).note == ""
