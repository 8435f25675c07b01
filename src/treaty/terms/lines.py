"""On which line of a TOML text a key stands: for messages only."""

import re
from collections.abc import Mapping, Sequence

Path = tuple[str | int, ...]
_KEY = r'(?:"(?:[^"\\]|\\.)*"|\'[^\']*\'|[A-Za-z0-9_-]+)'
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_TABLE = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]\]?")
_VALUE = re.compile(rf"\s*({_DOTTED})\s*=")


def lines_of(text: str) -> dict[Path, int]:
    """Return the line of every table and key, counted from 1; [[tables]] are numbered from 0.

    Keys inside of tables in one line are not found: their table is.
    """
    found: dict[Path, int] = {}
    counted: dict[Path, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if head := _TABLE.match(line):
            table = _parts(head[2])
            if head[1] == "[[":
                place = counted.get(table, 0)
                counted[table] = place + 1
                table = (*table, place)
            found.setdefault(table, number)
        elif value := _VALUE.match(line):
            found.setdefault((*table, *_parts(value[1])), number)
    return found


def line_of(lines: Mapping[Path, int], path: Sequence[str | int]) -> int | None:
    """Return the line of a key, of the first one in it if it is a table, or of the table around it."""
    for end in range(len(path), 0, -1):
        inside = [number for key, number in lines.items() if key[:end] == tuple(path[:end])]
        if inside:
            return min(inside)
    return None


def _parts(dotted: str) -> Path:
    return tuple(part.strip("\"'") for part in re.findall(_KEY, dotted))
