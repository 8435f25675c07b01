"""Reading and writing a treaty as TOML."""

import json
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError

from treaty.errors import TreatyError
from treaty.plain import parse_toml, read_toml
from treaty.terms.document import VERSION, Treaty

LARGEST_DICTIONARY = 1 << 28
"""Bytes of a dictionary beside a treaty."""


def load(path: str | Path) -> Treaty:
    """Read a treaty from a TOML file; a dictionary kept in a JSON file beside it is read too.

    Example:
        >>> load("no-such-treaty.toml")
        Traceback (most recent call last):
        treaty.errors.TreatyError: no-such-treaty.toml: there is no such file
    """
    path = Path(path)
    return _validated(read_toml(path), path, str(path))


def loads(text: str, path: Path | None = None) -> Treaty:
    """Read a treaty from TOML text. `path` is for messages and for the dictionary beside it."""
    where = "the treaty" if path is None else str(path)
    return _validated(parse_toml(text, where), path, where)


def _validated(data: dict[str, Any], path: Path | None, where: str) -> Treaty:
    version = data.get("version")
    if isinstance(version, int) and version > VERSION:
        raise TreatyError(
            f"{where}: this treaty is of version {_shown(version)}, and this program understands "
            f"versions up to {VERSION}: install a newer one"
        )
    if version is None:
        raise TreatyError(f"{where}: version is missing; write version = {VERSION}")
    if version != VERSION:
        raise TreatyError(f"{where}: version must be {VERSION}, not {_shown(version)}")
    _read_dictionary(data, path, where)
    try:
        return Treaty.model_validate(data)
    except ValidationError as error:
        raise TreatyError(f"{where}: {_sentence(error)}") from error
    except (ValueError, ArithmeticError, RecursionError) as error:
        if isinstance(error, TreatyError):
            raise
        raise TreatyError(
            f"{where}: a number in it is too long, or it is nested too deeply"
        ) from error


def dumps(treaty: Treaty) -> str:
    """Write a treaty as TOML, the fitted dictionary inside."""
    return tomli_w.dumps(treaty.model_dump(mode="python", exclude_none=True))


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
            f"{where}: fitted names {name}, which cannot be read ({error.strerror})"
        ) from error
    except (ValueError, RecursionError) as error:
        raise TreatyError(f"{beside}: not valid JSON: {error}") from error


def _shown(value: object) -> str:
    """Return a value as it is written, or only its kind if it is too large to show."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        text = ""
    return text if 0 < len(text) <= 200 else f"such a {type(value).__name__}"


def _sentence(error: ValidationError) -> str:
    """Say the first thing that is wrong, and where."""
    first = error.errors()[0]
    skip = {"number", "hats", "one-hot", "ordinal"}
    place = ".".join(
        str(part + 1) if isinstance(part, int) else part
        for part in first["loc"]
        if part not in skip
    )
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "missing":
        message = "is missing"
    elif first["type"] == "extra_forbidden":
        message = "is not a known field"
    elif first["type"] in ("union_tag_not_found", "union_tag_invalid"):
        place, message = f"{place}.kind", 'must be "number", "hats", "one-hot" or "ordinal"'
    elif first["type"] != "value_error":
        message = f"{message[0].lower()}{message[1:]}, not {_shown(first['input'])}"
    more = error.error_count() - 1
    rest = f" (and {more} more)" if more else ""
    return f"{place}: {message}{rest}" if place else f"{message}{rest}"
