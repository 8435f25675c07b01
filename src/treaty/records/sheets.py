"""Records in a sheet of a workbook, each cell a text by itself: no type is taken from a column."""

from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from treaty.errors import TreatyError, nearest
from treaty.records.cells import column_of


def read_sheet(path: Path, name: str = "") -> tuple[pl.DataFrame, str]:
    """Read one sheet of a workbook; return it, and a remark on what was read.

    Args:
        path: the workbook.
        name: of the sheet; if not given, the only one that holds anything.
    """
    try:
        calamine = import_module("python_calamine")
    except ImportError as error:
        raise TreatyError(
            f"{path}: Excel files need python-calamine: pip install 'treaty[excel]'"
        ) from error
    try:
        book = calamine.CalamineWorkbook.from_path(str(path))
        there = list(book.sheet_names)
        wanted = [name] if name in there else [] if name else there
        sheets = {sheet: _frame(book.get_sheet_by_name(sheet).to_python()) for sheet in wanted}
    except (calamine.CalamineError, OSError) as error:
        raise TreatyError(
            f"{path}: cannot be read as a workbook: open it in Excel and save it again"
        ) from error
    if name:
        if name not in sheets:
            raise TreatyError(
                f'{path}: there is no sheet "{name}"{nearest(name, there)}; there are '
                f"{', '.join(there)}"
            )
        return sheets[name], ""
    filled = {sheet: frame for sheet, frame in sheets.items() if frame.height}
    if len(filled) > 1:
        raise TreatyError(
            f"{path}: it has {len(filled)} sheets, {', '.join(filled)}: say which, as in "
            f"{path.name}#{next(iter(filled))}"
        )
    if not filled:
        raise TreatyError(f"{path}: no sheet of it holds records: put them into one, names on top")
    sheet, frame = next(iter(filled.items()))
    return frame, f"sheet {sheet}"


def _frame(cells: list[list[Any]]) -> pl.DataFrame:
    """Return rows of cells, names on top, as columns of texts; a row without any cell is none."""
    if not cells:
        return pl.DataFrame()
    head = [str(name).strip() or f"column_{place + 1}" for place, name in enumerate(cells[0])]
    seen = Counter[str]()
    names: list[str] = []
    for name in head:
        names.append(f"{name}_duplicated_{seen[name] - 1}" if seen[name] else name)
        seen[name] += 1
    rows = [row for row in cells[1:] if any(cell != "" for cell in row)]
    return pl.DataFrame(
        [
            column_of(name, (None if row[place] == "" else row[place] for row in rows))
            for place, name in enumerate(names)
        ]
    )
