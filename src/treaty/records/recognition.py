"""Recognising how a text file seems to be written, to propose it to people.

Nothing is ever read by what is recognised here: it goes into a draft or a source file, is looked at by
whoever holds the rows, and only what is then stated there counts.
"""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from treaty.errors import TreatyError
from treaty.records.dialect import (
    ABSENT,
    APOSTROPHES,
    SEPARATORS,
    SPACES,
    Dialect,
    NumberFormat,
    Separator,
    Thousands,
    first_line_of,
    marked_encoding,
    separator_of,
)

SAMPLE = 1 << 20
"""Bytes from which separator and decimal sign are recognised."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_DECIMAL_POINT = re.compile(r"[+-]?\d+\.\d+")
_POINTS_BETWEEN = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?")
_SPREAD = re.compile(rf"[+-]?\d{{1,3}}([{SPACES}{APOSTROPHES}]\d{{3}})+([.,]\d+)?")
"""Thousands apart by a space, of any kind, or an apostrophe."""
_PLAIN = re.compile(r"[+-]?\d+([.,]\d+)?")
_COMMAS_BETWEEN = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")


def recognise(path: Path) -> Dialect:
    """Propose how a text file is written, from its first MiB, and its encoding from all of it.

    Raises:
        TreatyError: it is no text.
    """
    encoding = _encoding(path)
    with path.open("rb") as file:
        head = file.read(SAMPLE)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(head)
    if "\0" in text:
        raise TreatyError(f"{path}: this is no text file: save it as CSV, in UTF-8")
    lines = text.lstrip("\ufeff").splitlines()
    if len(head) == SAMPLE and len(lines) > 1:
        lines = lines[:-1]  # the last one may be cut
    quote = _quote(lines)
    separator, rows = _separated(lines, quote)
    usual, columns = _formats(rows, separator)
    return Dialect.model_validate(
        {
            "encoding": encoding,
            "separator": separator,
            "quote": quote,
            "decimal": usual.decimal,
            "thousands": usual.thousands,
            "columns": columns,
        }
    )


def fault(path: Path, dialect: Dialect) -> str:
    """Return which line of a text file breaks it, and what to do; nothing if none is found."""
    encoding = marked_encoding(path) or dialect.encoding
    with path.open("rb") as file:
        for begun, line in enumerate(file, 1):
            try:
                if encoding == "utf-8":
                    line.decode(encoding)
            except UnicodeDecodeError:
                return (
                    f"line {begun:,} is not UTF-8: save the file as UTF-8, or state its encoding"
                    " (treaty dialect writes down how a file is written)"
                )
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        names, begun = list[str](), 1
        separator = dialect.separator or separator_of(file.readline().rstrip("\r\n"), dialect.quote)
        file.seek(0)
        rows = csv.reader(file, delimiter=separator, quotechar=dialect.quote, strict=True)
        try:
            for row in rows:
                names = names or row
                if len(row) > len(names):
                    return (
                        f"line {begun:,} has {len(row)} cells, and the first line names {len(names)} "
                        f"columns: put cells that hold {SEPARATORS[separator]} into quotes"
                    )
                begun = rows.line_num + 1
        except (csv.Error, UnicodeError):
            return f"line {begun:,} opens a quote that is never closed: close it, or double it"
    return "" if names else "the file is empty: its first line should name the columns"


def repeated(path: Path, dialect: Dialect) -> tuple[str, ...]:
    """Return the names that more than one column of a text file has."""
    line = first_line_of(path, marked_encoding(path) or dialect.encoding)
    separator = dialect.separator or separator_of(line, dialect.quote)
    names = next(csv.reader([line], delimiter=separator, quotechar=dialect.quote), list[str]())
    return tuple(name for name, times in Counter(names).items() if times > 1)


def _encoding(path: Path) -> str:
    """Return the encoding of a whole file: UTF-8 if all of it is, else what Windows or Latin-1 has."""
    marked = marked_encoding(path)
    if marked and marked != "utf-8":
        return marked
    utf8 = codecs.getincrementaldecoder("utf-8")()
    windows = valid = True
    with path.open("rb") as file:
        while block := file.read(SAMPLE):
            if valid:
                try:
                    utf8.decode(block)
                except UnicodeDecodeError:
                    valid = False
            windows = windows and not re.search(rb"[\x81\x8d\x8f\x90\x9d]", block)
    if valid:
        return "utf-8"
    return "cp1252" if windows else "latin-1"


def _quote(lines: Sequence[str]) -> str:
    """Return a single quote if cells stand in single quotes, and no double one is there."""
    sample = lines[:50]
    single = sum(bool(re.search(r"(^|[,;\t|])'[^']*'([,;\t|]|$)", line)) for line in sample)
    double = any('"' in line for line in sample)
    return "'" if single > len(sample) / 2 and not double else '"'


def _separated(lines: Sequence[str], quote: str) -> tuple[Separator, list[list[str]]]:
    """Return what separates the cells, and the cells."""
    best = (0.0, 0)
    separator, rows = ",", [[line] for line in lines]
    for candidate in SEPARATORS:
        try:
            cells = [row for row in csv.reader(lines, delimiter=candidate, quotechar=quote) if row]
        except csv.Error:
            continue
        if not cells or len(cells[0]) < 2:
            continue
        alike = sum(len(row) == len(cells[0]) for row in cells) / len(cells)
        if (alike, len(cells[0])) > best:
            best, separator, rows = (alike, len(cells[0])), candidate, cells
    return cast(Separator, separator), rows


def _formats(
    rows: Sequence[Sequence[str]], separator: str
) -> tuple[NumberFormat, dict[str, NumberFormat]]:
    """Return how most columns write numbers, and of those that contradict it: how they do.

    A column in which the rows leave it open is read as the others are.
    """
    names = list(rows[0]) if rows else []
    columns = [
        [row[place].strip() for row in rows[1:] if place < len(row)] for place in range(len(names))
    ]
    marks: list[Thousands] = [_spread(cells) for cells in columns]
    columns = [
        [_unspread(cell) if mark else cell for cell in cells]
        for cells, mark in zip(columns, marks, strict=True)
    ]
    styles = _settled([_style(cells) for cells in columns], separator)
    found = {
        name: _format(style, mark)
        for name, style, mark in zip(names, styles, marks, strict=True)
        if style not in ("?", "mixed") or mark
    }
    unusual = Counter(each for each in found.values() if each != NumberFormat())
    usual = unusual.most_common(1)[0][0] if unusual else NumberFormat()
    return usual, {
        name: form for name, form in found.items() if form != usual and not _within(form, usual)
    }


def _within(form: NumberFormat, usual: NumberFormat) -> bool:
    """Whether whatever is written in a format reads the same in another one."""
    return form == NumberFormat() and usual.decimal == "."


def _format(style: str, mark: Thousands) -> NumberFormat:
    if style == ",":
        return NumberFormat(decimal=",", thousands=mark or ".")
    return NumberFormat(thousands="," if style == "grouped" else mark)


def _spread(cells: Sequence[str]) -> Thousands:
    """Return which of space and apostrophe a column's numbers have between thousands, if any."""
    there = [cell for cell in cells if cell not in ABSENT]
    marked = [cell for cell in there if _SPREAD.fullmatch(cell)]
    if not marked or not all(_SPREAD.fullmatch(c) or _PLAIN.fullmatch(c) for c in there):
        return ""
    return "'" if any(sign in marked[0] for sign in APOSTROPHES) else " "


def _unspread(cell: str) -> str:
    return re.sub(f"[{SPACES}{APOSTROPHES}]", "", cell) if _SPREAD.fullmatch(cell) else cell


def _settled(styles: list[str], separator: str) -> list[str]:
    """Return how every column writes numbers, where the column itself leaves it open by the others."""
    if "," not in styles and "1,234" in styles and separator == ",":
        styles = ["grouped" if style == "1,234" else style for style in styles]
    foreign = "." not in styles and "grouped" not in styles
    open_ = {"1,234", "1.234", "?"} if "," in styles else {"1,234"}
    open_ = open_ if foreign else set[str]()
    return ["," if style in open_ else style for style in styles]


def _style(cells: Sequence[str]) -> str:
    """Return how numbers of a column are written: , or . or grouped or mixed.

    Where cells leave it open, it is 1,234 or 1.234; ? if there is neither sign.
    """
    found: set[str] = set()
    for cell in cells:
        if _COMMAS_BETWEEN.fullmatch(cell):
            found.add("grouped" if "." in cell or cell.count(",") > 1 else "1,234")
        elif _DECIMAL_COMMA.fullmatch(cell) or ("," in cell and _POINTS_BETWEEN.fullmatch(cell)):
            found.add(",")
        elif _DECIMAL_POINT.fullmatch(cell):
            found.add("1.234" if _POINTS_BETWEEN.fullmatch(cell) else ".")
    for style, beside in ((",", {"1,234", "1.234"}), ("grouped", {"1,234", ".", "1.234"})):
        if style in found:
            return style if found <= {style, *beside} else "mixed"
    if len(found) > 1:
        return "." if found == {".", "1.234"} else "mixed"
    return found.pop() if found else "?"
