"""How a text file of records is written: what separates cells, which encoding, which decimal sign.

Nothing is asked of the user: it is recognised from the file, and said.
"""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from treaty.errors import TreatyError

SAMPLE = 1 << 20
"""Bytes from which separator and decimal sign are recognised."""
ABSENT = ["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None"]
"""What stands for a missing cell."""
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_DECIMAL_POINT = re.compile(r"[+-]?\d+\.\d+")
_POINTS_BETWEEN = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?")
_SPREAD = re.compile("[+-]?\\d{1,3}([ '\u2019\u00a0\u202f]\\d{3})+([.,]\\d+)?")
"""Thousands apart by a space, of any kind, or an apostrophe."""
_PLAIN = re.compile(r"[+-]?\d+([.,]\d+)?")
_COMMAS_BETWEEN = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")


@dataclass(frozen=True)
class Writing:
    """How a text file is written.

    Args:
        encoding: utf-8, utf-16, cp1252 or latin-1.
        separator: what stands between cells.
        quote: what stands around cells that hold a separator.
        commas: columns whose numbers have a decimal comma, and may have points between thousands.
        grouped: columns whose numbers have a decimal point, and commas between thousands.
        spread: columns whose numbers have spaces or apostrophes between thousands.
        repeated: names that more than one column has.
    """

    encoding: str = "utf-8"
    separator: str = ","
    quote: str = '"'
    commas: tuple[int, ...] = ()
    grouped: tuple[int, ...] = ()
    spread: tuple[int, ...] = ()
    repeated: tuple[str, ...] = ()

    def words(self) -> str:
        """Return what is unusual about it, in words; nothing if nothing is."""
        said: list[str] = []
        if self.separator != ",":
            said.append(f"separated by {SEPARATORS[self.separator]}")
        if self.encoding in ("cp1252", "latin-1"):
            said.append("encoded as Latin-1")
        elif self.encoding != "utf-8":
            said.append(f"encoded as {self.encoding.upper()}")
        if self.quote != '"':
            said.append("single quotes around cells")
        if self.commas:
            said.append("decimal commas")
        if self.grouped:
            said.append("commas between thousands")
        if self.spread:
            said.append("spaces or apostrophes between thousands")
        said += [
            f"more than one column named {name}, of which the second is read as {name}_duplicated_0"
            for name in self.repeated
        ]
        return ", ".join(said)

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the file as texts, numbers with a decimal point; what is not UTF-8 is read at once."""
        source: Path | bytes = path
        if self.encoding != "utf-8":
            try:
                source = path.read_bytes().decode(self.encoding).encode()
            except UnicodeError as error:
                raise TreatyError(
                    f"{path}: looks like {self.encoding.upper()}, and is not: save it as UTF-8"
                ) from error
        frame = pl.scan_csv(
            source,
            infer_schema=False,
            null_values=ABSENT,
            separator=self.separator,
            quote_char=self.quote,
        )
        changed = self.commas or self.grouped or self.spread
        names = frame.collect_schema().names() if changed else []
        frame = frame.with_columns(_joined(names[place]) for place in self.spread)
        plain = [_with_point(names[place]) for place in self.commas]
        plain += [_without_commas(names[place]) for place in self.grouped]
        return frame.with_columns(plain)


def recognise(path: Path) -> Writing:
    """Recognise how a text file is written.

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
    spread = _spread(rows)
    rows = [[_unspread(c) if i in spread else c for i, c in enumerate(row)] for row in rows]
    names = Counter(rows[0] if rows else [])
    repeated = tuple(name for name, times in names.items() if times > 1)
    return Writing(encoding, separator, quote, *_signs(rows, separator), spread, repeated)


def fault(path: Path) -> str:
    """Return which line of a text file breaks it, and what to do; nothing if none is found."""
    writing = recognise(path)
    with path.open(encoding=writing.encoding, errors="replace", newline="") as file:
        rows = csv.reader(file, delimiter=writing.separator, quotechar=writing.quote, strict=True)
        names, begun = list[str](), 1
        try:
            for row in rows:
                names = names or row
                if len(row) > len(names):
                    return (
                        f"line {begun:,} has {len(row)} cells, and the first line names {len(names)} "
                        f"columns: put cells that hold {SEPARATORS[writing.separator]} into quotes"
                    )
                begun = rows.line_num + 1
        except (csv.Error, UnicodeError):
            return f"line {begun:,} opens a quote that is never closed: close it, or double it"
    return "" if names else "the file is empty: its first line should name the columns"


def _encoding(path: Path) -> str:
    """Return the encoding of a whole file: UTF-8 if all of it is, else what Windows or Latin-1 has."""
    utf8 = codecs.getincrementaldecoder("utf-8")()
    windows = True
    with path.open("rb") as file:
        block = file.read(SAMPLE)
        for mark, encoding in _MARKS:
            if block.startswith(mark) and encoding != "utf-8":
                return encoding
        valid = True
        while block:
            if valid:
                try:
                    utf8.decode(block)
                except UnicodeDecodeError:
                    valid = False
            if not valid:
                windows = windows and not re.search(rb"[\x81\x8d\x8f\x90\x9d]", block)
            block = file.read(SAMPLE)
    if valid:
        return "utf-8"
    return "cp1252" if windows else "latin-1"


def _quote(lines: Sequence[str]) -> str:
    """Return a single quote if cells stand in single quotes, and no double one is there."""
    sample = lines[:50]
    single = sum(bool(re.search(r"(^|[,;\t|])'[^']*'([,;\t|]|$)", line)) for line in sample)
    double = any('"' in line for line in sample)
    return "'" if single > len(sample) / 2 and not double else '"'


def _separated(lines: Sequence[str], quote: str) -> tuple[str, list[list[str]]]:
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
    return separator, rows


def _spread(rows: Sequence[Sequence[str]]) -> tuple[int, ...]:
    """Return in which columns numbers have spaces or apostrophes between thousands."""
    found: list[int] = []
    for place in range(len(rows[0]) if rows else 0):
        cells = [row[place].strip() for row in rows[1:] if place < len(row)]
        cells = [cell for cell in cells if cell not in ABSENT]
        marked = [bool(_SPREAD.fullmatch(cell)) for cell in cells]
        if any(marked) and all(
            m or _PLAIN.fullmatch(c) for m, c in zip(marked, cells, strict=True)
        ):
            found.append(place)
    return tuple(found)


def _unspread(cell: str) -> str:
    return re.sub("[ '\u2019\u00a0\u202f]", "", cell) if _SPREAD.fullmatch(cell.strip()) else cell


def _joined(name: str) -> pl.Expr:
    """Return a column of numbers without spaces or apostrophes between thousands."""
    cells = pl.col(name)
    joined = cells.str.replace_all("[ '\u2019\u00a0\u202f]", "")
    return pl.when(cells.str.contains(f"^\\s*{_SPREAD.pattern}\\s*$")).then(joined).otherwise(cells)


def _signs(
    rows: Sequence[Sequence[str]], separator: str
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return in which columns numbers have a decimal comma, and in which commas between thousands.

    A column in which the rows leave it open is read as the others are.
    """
    width = len(rows[0]) if rows else 0
    styles = [_style([row[i].strip() for row in rows[1:] if i < len(row)]) for i in range(width)]
    if "," not in styles and "1,234" in styles and separator == ",":
        styles = ["grouped" if style == "1,234" else style for style in styles]
    foreign = "." not in styles and "grouped" not in styles
    open_ = {"1,234", "1.234", "?"} if "," in styles else {"1,234"}
    open_ = open_ if foreign else set[str]()
    styles = ["," if style in open_ else style for style in styles]
    return (
        tuple(i for i, style in enumerate(styles) if style == ","),
        tuple(i for i, style in enumerate(styles) if style == "grouped"),
    )


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


def _with_point(name: str) -> pl.Expr:
    """Return a column of numbers with decimal commas as they are written elsewhere."""
    cells = pl.col(name)
    spread = cells.str.contains(rf"^\s*{_POINTS_BETWEEN.pattern}\s*$")
    joined = pl.when(spread).then(cells.str.replace_all(".", "", literal=True)).otherwise(cells)
    pattern = r"^\s*([+-]?\d+),(\d+(?:[eE][+-]?\d+)?)\s*$"
    return joined.str.replace(pattern, "${1}.${2}").alias(name)


def _without_commas(name: str) -> pl.Expr:
    """Return a column of numbers without commas between thousands."""
    cells = pl.col(name)
    spread = cells.str.contains(rf"^\s*{_COMMAS_BETWEEN.pattern}\s*$")
    return pl.when(spread).then(cells.str.replace_all(",", "", literal=True)).otherwise(cells)
