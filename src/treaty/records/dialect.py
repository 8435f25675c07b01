"""The dialect of a text file of records: how cells and numbers are written in it.

A dialect is stated before rows are opened, in the treaty or in the owner's own source file, and every
cell is read by it alone: what one record becomes can never depend on how another one is written.
"""

import codecs
import csv
from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import model_validator

from treaty.errors import TreatyError
from treaty.plain import Plain

ABSENT = ["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None"]
"""What stands for a missing cell."""
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
FIRST = 1 << 20
"""The first line, which names the columns, has at most so many bytes."""
SPACES = " \u00a0\u202f"
"""Spaces of all kinds that stand between thousands."""
APOSTROPHES = "'\u2019"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

Decimal = Literal[".", ","]
Thousands = Literal["", ".", ",", " ", "'"]
Separator = Literal[",", ";", "\t", "|"]


class NumberFormat(Plain):
    """How numbers are written.

    Args:
        decimal: the decimal sign.
        thousands: what stands between thousands, if anything; a space means any kind of space, an
            apostrophe any kind of apostrophe.
    """

    decimal: Decimal = "."
    thousands: Thousands = ""

    @model_validator(mode="after")
    def _signs_differ(self) -> "NumberFormat":
        if self.decimal == self.thousands:
            raise ValueError(f'decimal and thousands cannot both be "{self.decimal}"')
        return self

    def plain(self, cells: pl.Expr) -> pl.Expr:
        """Return cells in which numbers of this format are written with a point and nothing else.

        Each cell is rewritten by itself; one that is no number of this format stays as it is.
        """
        point = "," if self.decimal == "," else r"\."
        if self.thousands:
            mark = {" ": f"[{SPACES}]", "'": f"[{APOSTROPHES}]"}.get(
                self.thousands, f"[{self.thousands}]"
            )
            grouped = cells.str.contains(rf"^\s*[+-]?\d{{1,3}}({mark}\d{{3}})+({point}\d+)?\s*$")
            cells = pl.when(grouped).then(cells.str.replace_all(mark, "")).otherwise(cells)
        if self.decimal == ",":
            number = r"^\s*([+-]?\d+),(\d+(?:[eE][+-]?\d+)?)\s*$"
            cells = cells.str.replace(number, "${1}.${2}")
        return cells


class Dialect(NumberFormat):
    """How a text file of records is written.

    Args:
        encoding: utf-8, utf-16, cp1252 (Windows) or latin-1. A mark at the beginning of a file that says
            otherwise is believed.
        separator: what stands between cells; if not given, what splits the first line, which names the
            columns and is no record, into most of them.
        quote: what stands around cells that hold a separator.
        columns: of columns whose numbers are written in another way: how.
    """

    encoding: Literal["utf-8", "utf-16", "cp1252", "latin-1"] = "utf-8"
    separator: Separator | None = None
    quote: Literal['"', "'"] = '"'
    columns: dict[str, NumberFormat] = {}

    def words(self) -> str:
        """Return what is unusual about it, in words; nothing if nothing is."""
        said: list[str] = []
        if self.separator not in (None, ","):
            said.append(f"separated by {SEPARATORS[self.separator]}")
        if self.encoding in ("cp1252", "latin-1"):
            said.append("encoded as Latin-1")
        elif self.encoding != "utf-8":
            said.append(f"encoded as {self.encoding.upper()}")
        if self.quote != '"':
            said.append("single quotes around cells")
        formats = [self, *self.columns.values()]
        if any(each.decimal == "," for each in formats):
            said.append("decimal commas")
        if any(each.thousands == "," for each in formats):
            said.append("commas between thousands")
        if any(each.thousands in (" ", "'") for each in formats):
            said.append("spaces or apostrophes between thousands")
        return ", ".join(said)

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the file as texts, numbers with a decimal point; what is not UTF-8 is read at once."""
        encoding = marked_encoding(path) or self.encoding
        line = first_line_of(path, encoding)
        if "\0" in line:
            raise TreatyError(f"{path}: this is no text file: save it as CSV, in UTF-8")
        source: Path | bytes = path
        if encoding != "utf-8":
            try:
                source = path.read_bytes().decode(encoding).encode()
            except UnicodeError as error:
                raise TreatyError(
                    f"{path}: should be {encoding.upper()}, and is not: save it as UTF-8"
                ) from error
        frame = pl.scan_csv(
            source,
            infer_schema=False,
            null_values=ABSENT,
            separator=self.separator or separator_of(line, self.quote),
            quote_char=self.quote,
        )
        usual = NumberFormat(decimal=self.decimal, thousands=self.thousands)
        formats = {name: self.columns.get(name, usual) for name in frame.collect_schema().names()}
        return frame.with_columns(
            form.plain(pl.col(name)).alias(name)
            for name, form in formats.items()
            if form != NumberFormat()
        )


PLAIN = Dialect()
"""UTF-8, decimal points, nothing between thousands."""


def marked_encoding(path: Path) -> str:
    """Return the encoding that a mark at the beginning of a file tells; nothing if there is none."""
    with path.open("rb") as file:
        head = file.read(4)
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), "")


def names_readable(path: Path) -> bool:
    """Whether the first line of a text file, which names the columns, is UTF-8 or marked as another."""
    return "\ufffd" not in first_line_of(path, marked_encoding(path) or "utf-8")


def first_line_of(path: Path, encoding: str) -> str:
    """Return the first line of a text file, which names the columns."""
    with path.open("rb") as file:
        head = file.read(FIRST)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(head)
    lines = text.lstrip("\ufeff").splitlines()
    return lines[0] if lines else ""


def separator_of(line: str, quote: str) -> Separator:
    """Return what splits the names of columns into most cells; a comma if nothing does."""
    found: Separator = ","
    most = 1
    for candidate in (",", ";", "\t", "|"):
        cells = next(csv.reader([line], delimiter=candidate, quotechar=quote), list[str]())
        if len(cells) > most:
            found, most = candidate, len(cells)
    return found
