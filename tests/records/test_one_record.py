"""What a record becomes does not change when another one does."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from bench import reading
from bench.reading import Makers, search

from treaty.errors import TreatyError
from treaty.records import Counts, Number, OneHot, open_source, proposed_dialect
from treaty.records.cells import category, name_of, written
from treaty.records.files import FileSource


@pytest.fixture(autouse=True)
def quiet():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    reading.LABELS[0] = False


def test_no_record_decides_how_another_is_read():
    """The invariant of theory.md, over every kind of source; the benchmark tries twenty thousand."""
    found = search(600, seed=1)
    assert found["sources"] == 10
    assert found["influence"] == 0, found["shown"]
    assert found["worst"] <= 1.0
    assert found["refused"] < 0.3


class Recognising(Makers):
    """Reads text files as they seem to be written."""

    def __init__(self, folder, postgres=None):
        super().__init__(folder)
        self.kinds = {"csv": self.csv}

    def csv(self, rows, dialect):
        source = super().csv(rows, dialect)
        return FileSource(source.path, dialect=proposed_dialect(source.path))


def test_the_search_finds_a_reader_that_looks_at_all_rows():
    found = search(600, seed=1, of=Recognising)
    assert found["influenced"].get("csv", 0) > 0
    assert found["worst"] > 1.0


GRADES = OneHot(kind="one-hot", categories=("1", "2", "3"))


def _second(values):
    """How the second of three cells is encoded as a category."""
    out = np.zeros((3, 3))
    GRADES.encode("g", values, out, Counts())
    return out[1].tolist()


@pytest.mark.parametrize(
    "column",
    [[1, 2, 3], [1, 2, 2.5], [1, 2, None], [1, 2, "x"], ["x", 2.0, 1], [True, 2, 1], ["1", "2", "2.0"]],
)  # fmt: skip
def test_category_numbers_are_written_in_one_way(column):
    source = open_source(pd.DataFrame({"g": column}))
    assert _second(next(source.blocks(["g"]))["g"]) == [0.0, 1.0, 0.0]


def test_two_among_yes_and_no_is_two():
    numbers = Number(bounds=(0, 1), words={"no": 0, "yes": 1})
    for cells in (["yes", "no", "yes"], ["yes", "no", "2"]):
        found = numbers.numbers("a", pl.Series(cells), Counts())
        assert found[:2].tolist() == [1.0, 0.0]


def test_one_decimal_comma_is_refused_and_moves_nobody(tmp_path):
    path = tmp_path / "ours.csv"
    path.write_text('a,b\n0.123,1\n"0,5",2\n')
    cells = next(open_source(path).blocks(["a"]))["a"]
    assert cells.to_list() == ["0.123", "0,5"]
    with pytest.raises(TreatyError, match=r"row 2 holds '0,5': .*treaty dialect FILE"):
        Number(bounds=(0, 1)).numbers("a", cells, Counts())


def test_codes_that_are_one_number_are_told_apart_as_texts_only():
    codes = OneHot(kind="one-hot", categories=("01", "1"))
    out = np.zeros((2, 2))
    codes.encode("g", pl.Series(["01", "1"]), out, Counts())
    assert out.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(TreatyError, match='"01" and "1" are the same number'):
        codes.encode("g", pl.Series([1, 1]), out, Counts())


def test_owners_that_are_numbers_have_one_name():
    frame = pl.DataFrame({"who": [1.0, 2.0, None, 2.5]})
    names = frame.select(name_of("who", frame.schema["who"])).to_series().to_list()
    assert names == ["1", "2", None, "2.5"]
    source = open_source(pd.DataFrame({"who": [1, 2, None], "a": [1, 2, 3]}))
    assert source.owners("who") == {"1": 1, "2": 1}


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (1.0, "1"),
        (2.5, "2.5"),
        (True, "true"),
        (float("nan"), None),
        (np.int64(3), "3"),
        (datetime.date(2020, 1, 2), "2020-01-02"),
        (datetime.datetime(2020, 1, 2, 3), "2020-01-02 03:00:00"),
        ("1.0", "1.0"),
    ],
)
def test_a_cell_as_a_text(cell, text):
    assert written(cell) == text


def test_a_number_beyond_doubles_is_the_double():
    assert category(2**53 + 1) == category(float(2**53 + 1)) == category(str(2**53 + 1))
