"""Plain data that checks itself, and how a TOML file becomes it."""

import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from treaty.errors import TreatyError


class Plain(BaseModel):
    """Frozen plain data that accepts no key it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


Model = TypeVar("Model", bound=Plain)


def read_plain(of: type[Model], path: Path) -> Model:
    """Read a TOML file as what it should be; anything doubtful about it is an error.

    Raises:
        TreatyError: with the file, the field, and what would be right.
    """
    try:
        return of.model_validate(read_toml(path))
    except ValidationError as error:
        raise TreatyError(f"{path}: {first_problem(error)}") from error


def first_problem(error: ValidationError) -> str:
    """Say the first thing that is wrong, and in which field."""
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{field}: {message}" if field else message


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file as plain data.

    Raises:
        TreatyError: it is none.
    """
    return parse_toml(text_of(path), str(path))


def text_of(path: Path) -> str:
    """Return the text of a TOML file.

    Raises:
        TreatyError: there is no such file, or it is no text.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise TreatyError(f"{path}: there is no such file: give the path of one") from error
    except UnicodeDecodeError as error:
        raise TreatyError(
            f"{path}: not valid TOML: not UTF-8; give a text file, in UTF-8"
        ) from error
    except OSError as error:
        raise TreatyError(f"{path}: cannot be read ({error.strerror})") from error


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Read TOML; `where` is what to call it in a message."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TreatyError(f"{where}: not valid TOML: {error}; correct it there") from error
    except (RecursionError, ValueError) as error:
        # A number of thousands of digits is a ValueError.
        raise TreatyError(
            f"{where}: not valid TOML: nested too deeply, or a number too long"
        ) from error
