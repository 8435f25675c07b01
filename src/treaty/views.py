"""What a result looks like to a person: as text, and as HTML in a notebook."""

import io
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from html import escape

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

WIDTH = 100
"""Columns of a text."""


class Shown(ABC):
    """A result that prints as tables, and shows as tables in a notebook."""

    @abstractmethod
    def rendered(self) -> RenderableType:
        """Return it as something Rich prints."""

    def __str__(self) -> str:
        return as_text(self.rendered())

    def _repr_html_(self) -> str:
        return as_html(self.rendered())


def as_text(what: RenderableType) -> str:
    """Return sentences and tables as text."""
    out = io.StringIO()
    Console(file=out, width=WIDTH).print(what)
    return out.getvalue().rstrip()


def as_html(what: RenderableType) -> str:
    """Return sentences and tables as HTML; whatever names hold, nothing in them is markup."""
    if isinstance(what, Group):
        return "\n".join(as_html(part) for part in what.renderables)
    if isinstance(what, Table):
        return _table(what)
    words = what.plain if isinstance(what, Text) else str(what)
    heavy = isinstance(what, Text) and "bold" in str(what.style)
    lines = escape(words).replace("\n", "<br>")
    return f"<p>{f'<b>{lines}</b>' if heavy else lines}</p>" if words.strip() else ""


def epsilon_text(epsilon: float) -> str:
    """Return an ε that has been spent as it is shown; without noise it has no end."""
    return "no end (no noise)" if math.isinf(epsilon) else f"{epsilon:.4g}"


def some(names: Iterable[str], most: int = 8) -> str:
    """List names: all of a few, or the first of many and how many more there are.

    Example:
        >>> some(["a", "b", "c"], most=2)
        'a, b and 1 more'
    """
    known = list(names)
    more = len(known) - most
    return ", ".join(known[:most]) + (f" and {more} more" if more > 0 else "")


def _table(table: Table) -> str:
    sides = [f' style="text-align:{column.justify}"' for column in table.columns]
    head = "".join(
        f"<th{side}>{escape(_plain(column.header))}</th>"
        for column, side in zip(table.columns, sides, strict=True)
    )
    columns = [[_plain(cell) for cell in column.cells] for column in table.columns]
    rows = ""
    for place, cells in enumerate(zip(*columns, strict=True)):
        style = str(table.rows[place].style or "")
        mark = ' style="font-weight:bold"' if "bold" in style else ""
        rows += f"<tr{mark}>"
        rows += "".join(f"<td{s}>{escape(c)}</td>" for c, s in zip(cells, sides, strict=True))
        rows += "</tr>\n"
    title = f"<caption>{escape(_plain(table.title))}</caption>" if table.title else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table>"


def _plain(cell: RenderableType) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)
