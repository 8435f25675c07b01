"""Records in a sheet of an Excel workbook."""

from importlib import import_module
from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

from treaty.errors import TreatyError, nearest


def read_sheet(path: Path, name: str = "") -> tuple[pl.DataFrame, str]:
    """Read one sheet of a workbook; return it, and a remark on what was read.

    Args:
        path: the workbook.
        name: of the sheet; if not given, the only one that holds anything.
    """
    try:
        excel = import_module("fastexcel")
    except ImportError as error:
        raise TreatyError(
            f"{path}: Excel files need fastexcel: pip install 'treaty[excel]'"
        ) from error
    try:
        sheets = pl.read_excel(
            path, sheet_id=0, engine="calamine", raise_if_empty=False, infer_schema_length=None
        )
    except (excel.FastExcelError, PolarsError) as error:
        raise TreatyError(
            f"{path}: cannot be read as a workbook: open it in Excel and save it again"
        ) from error
    if name:
        if name not in sheets:
            there = ", ".join(sheets)
            raise TreatyError(
                f'{path}: there is no sheet "{name}"{nearest(name, list(sheets))}; there are {there}'
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
