"""How text files are written is stated, and can be proposed."""

import polars as pl
import pytest
import xlsxwriter

from treaty.errors import TreatyError
from treaty.records import Dialect, open_source, proposed_dialect
from treaty.records.recognition import recognise

FILES = {
    "plain": (b"a,b\n1,2.5\n", "", [["1", "2.5"]]),
    "semicolons and decimal commas": (
        'name;größe;n\nÄ;1,5;1.234\n"b;c";-2,25;12.345\n'.encode("cp1252"),
        "separated by semicolons, encoded as Latin-1, decimal commas",
        [["Ä", "1.5", "1234"], ["b;c", "-2.25", "12345"]],
    ),
    "a mark at the beginning": (
        "\ufeffa;b\n1;2\n".encode(),
        "separated by semicolons",
        [["1", "2"]],
    ),
    "tabs in UTF-16": (
        "a\tb\n1\t2\n".encode("utf-16"),
        "separated by tabs, encoded as UTF-16",
        [["1", "2"]],
    ),
    "bars": (b"a|b\n1|x,y\n", "separated by vertical bars", [["1", "x,y"]]),
    "commas between thousands": (
        b'a,b\n"1,234.5",2\n7,3\n',
        "commas between thousands",
        [["1234.5", "2"], ["7", "3"]],
    ),
    "thousands that may be decimals": (
        b"a;b\n1,234;2\n",
        "separated by semicolons, decimal commas",
        [["1.234", "2"]],
    ),
    "the same between commas": (b'a,b\n"1,234",2\n', "commas between thousands", [["1234", "2"]]),
    "single quotes": (
        b"a,b\n'x,y',2\n'u',3\n",
        "single quotes around cells",
        [["x,y", "2"], ["u", "3"]],
    ),
    "both signs in different columns": (
        b"a;b\n1,5;2.5\n",
        "separated by semicolons, decimal commas",
        [["1.5", "2.5"]],
    ),
    "texts with commas stay": (b"a;b\nx,y;1\n", "separated by semicolons", [["x,y", "1"]]),
    "bytes that Windows does not know": (
        "a;b\nx\x81ä;1\n".encode("latin-1"),
        "separated by semicolons, encoded as Latin-1",
        [["x\x81ä", "1"]],
    ),
    "apostrophes between thousands": (
        b"a;b\n8'933,74;x\n12,5;y\n",
        "separated by semicolons, decimal commas, spaces or apostrophes between thousands",
        [["8933.74", "x"], ["12.5", "y"]],
    ),
    "as the Swiss have it": (
        b"a,b\n8'933.74,x\n1'000'000.5,y\n",
        "spaces or apostrophes between thousands",
        [["8933.74", "x"], ["1000000.5", "y"]],
    ),
    "narrow spaces between thousands": (
        "a;b\n8\u202f933,74;x 100\n7,1;y 200\n".encode(),
        "separated by semicolons, decimal commas, spaces or apostrophes between thousands",
        [["8933.74", "x 100"], ["7.1", "y 200"]],
    ),
    "one column": (b"a\n1\n2\n", "", [["1"], ["2"]]),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES)
def test_files_are_read_as_they_are_meant(tmp_path, case):
    content, remark, cells = FILES[case]
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    source = open_source(path, dialect=proposed_dialect(path))
    assert source.remark == remark
    assert [list(row) for row in pl.concat(source.blocks(list(source.schema))).iter_rows()] == cells


def test_one_letter_late_in_a_long_file_decides_its_encoding(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a;b\n" + b"x;1\n" * 400_000 + "é;2\n".encode("latin-1"))
    assert recognise(path).encoding == "cp1252"
    with pytest.raises(TreatyError, match="line 400,002 is not UTF-8"):
        list(open_source(path).blocks(["a"]))
    source = open_source(path, dialect=Dialect(encoding="cp1252"))
    last = list(source.blocks(["a"]))[-1]
    assert last["a"][-1] == "é"


def test_every_owner_of_a_file_is_read_alike(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes("wer;größe\nÄ;1,5\nB;2,5\n".encode("cp1252"))
    dialect = proposed_dialect(path)
    assert open_source(path, dialect=dialect).owners("wer") == {"B": 1, "Ä": 1}
    mine = open_source(path, dialect=dialect, by="wer", owner="Ä")
    assert pl.concat(mine.blocks(["größe"]))["größe"].to_list() == ["1.5"]


def test_a_line_with_too_many_cells_is_told_whatever_columns_are_read(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,c\n1,2,3\n1,2,3,4\n")
    with pytest.raises(TreatyError, match="line 3"):
        list(open_source(path).blocks(["a"]))


def test_workbooks(tmp_path):
    frame = pl.DataFrame({"a": [1.5, 2.5], "b": [True, False], "who": ["x", "y"]})
    frame.write_excel(tmp_path / "one.xlsx", worksheet="records")
    source = open_source(tmp_path / "one.xlsx")
    assert source.remark == "sheet records"
    assert source.schema == {"a": pl.String(), "b": pl.String(), "who": pl.String()}
    assert pl.concat(source.of_owner("who", "y").blocks(["a"]))["a"].to_list() == ["2.5"]
    with xlsxwriter.Workbook(str(tmp_path / "two.xlsx")) as book:
        frame.write_excel(book, worksheet="old")
        frame.head(1).write_excel(book, worksheet="new")
    with pytest.raises(
        Exception, match=r"it has 2 sheets, old, new: say which, as in two.xlsx#old"
    ):
        open_source(tmp_path / "two.xlsx")
    assert len(pl.concat(open_source(f"{tmp_path}/two.xlsx#new").blocks(["a"]))) == 1
    with pytest.raises(Exception, match=r'there is no sheet "nw" \(did you mean "new"\?\)'):
        open_source(f"{tmp_path}/two.xlsx#nw")


def test_names_that_are_there_twice_are_told(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("a,kind,kind,b\n1,x,y,2\n")
    assert "more than one column named kind" in open_source(path).remark
    assert list(open_source(path).schema) == ["a", "kind", "kind_duplicated_0", "b"]
    path.write_text("a,kind,b\n1,x,2\n")
    assert open_source(path).remark == ""
