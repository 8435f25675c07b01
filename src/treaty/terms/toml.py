"""Reading and writing a treaty as TOML."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError

from treaty.errors import TreatyError
from treaty.plain import Plain, parse_toml, text_of
from treaty.terms.document import VERSION, Treaty
from treaty.terms.faults import faults, faults_of, shown, told, unknown_names

LARGEST_DICTIONARY = 1 << 28
"""Bytes of a dictionary beside a treaty."""
_ARRAY = re.compile(r"\[\n((?:    .*\n)+)\]")


def load(path: str | Path) -> Treaty:
    """Read a treaty from a TOML file; a dictionary kept in a JSON file beside it is read too.

    Example:
        >>> load("no-such-treaty.toml")
        Traceback (most recent call last):
        treaty.errors.TreatyError: no-such-treaty.toml: there is no such file: give the path of one
    """
    path = Path(path)
    return _validated(text_of(path), path, str(path))


def loads(text: str, path: Path | None = None) -> Treaty:
    """Read a treaty from TOML text. `path` is for messages and for the dictionary beside it."""
    return _validated(text, path, "the treaty" if path is None else str(path))


def _validated(text: str, path: Path | None, where: str) -> Treaty:
    data = parse_toml(text, where)
    version = data.get("version")
    if isinstance(version, int) and version > VERSION:
        raise TreatyError(
            f"{where}: this treaty is of version {shown(version)}, and this program understands "
            f"versions up to {VERSION}: install a newer one"
        )
    if version is None:
        raise TreatyError(
            f"{where}: version is missing; write version = {VERSION} in the first line"
        )
    if version != VERSION:
        raise TreatyError(f"{where}: version must be {VERSION}, not {shown(version)}")
    _read_dictionary(data, path, where)
    try:
        treaty = Treaty.model_validate(data)
    except ValidationError as error:
        wrong = [*faults_of(error), *unknown_names(data)]
        raise TreatyError(told(where, text, wrong)) from error
    except (ValueError, ArithmeticError, RecursionError) as error:
        if isinstance(error, TreatyError):
            raise
        raise TreatyError(
            f"{where}: a number in it is too long, or it is nested too deeply"
        ) from error
    wrong = faults(treaty, [party["name"] for party in data["parties"]])
    if wrong:
        raise TreatyError(told(where, text, wrong))
    return treaty


def dumps(treaty: Treaty) -> str:
    """Write a treaty as TOML, the fitted dictionary inside."""
    return tomli_w.dumps(treaty.model_dump(mode="python", exclude_none=True))


def section_text(path: Sequence[str], part: Plain, *always: str) -> str:
    """Return one part of a treaty as TOML: what differs from the defaults, arrays in one line.

    Args:
        path: the names of the sections it stands in, such as ("features", "age").
        part: what is written.
        always: fields that are written in any case.
    """
    plain = part.model_dump(mode="python", exclude_none=True)
    default = part.model_dump(mode="python", exclude_none=True, exclude_defaults=True)
    data: dict[str, Any] = {k: v for k, v in plain.items() if k in default or k in always}
    for name in reversed(path):
        data = {name: data}
    return _ARRAY.sub(_in_one_line, tomli_w.dumps(data))


def _in_one_line(array: re.Match[str]) -> str:
    return "[" + ", ".join(line.strip().rstrip(",") for line in array[1].splitlines()) + "]"


def _read_dictionary(data: dict[str, Any], path: Path | None, where: str) -> None:
    """Replace fitted = "file.json" by what that file says."""
    name = data.get("fitted")
    if not isinstance(name, str):
        return
    beside = Path(name) if path is None else path.parent / name
    if Path(name).name != name or (beside.exists() and not beside.is_file()):
        raise TreatyError(
            f"{where}: fitted names {name!r:.100}, which is no file beside the treaty"
        )
    try:
        if beside.stat().st_size > LARGEST_DICTIONARY:
            raise TreatyError(f"{beside}: too large for a dictionary")
        data["fitted"] = json.loads(beside.read_text(encoding="utf-8"))
    except OSError as error:
        raise TreatyError(
            f"{where}: fitted names {name}, which cannot be read ({error.strerror}); "
            "it goes with the treaty: ask for it whoever sent you the treaty"
        ) from error
    except (ValueError, RecursionError) as error:
        raise TreatyError(f"{beside}: not valid JSON: {error}") from error
