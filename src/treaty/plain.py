"""Plain data that checks itself, and how a TOML file becomes it."""

import tomllib
from pathlib import Path
from typing import TypeVar

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
        return of.model_validate(tomllib.loads(path.read_text()))
    except OSError as error:
        raise TreatyError(f"{path}: there is no such file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TreatyError(f"{path}: not TOML ({error})") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        told = first["msg"].removeprefix("Value error, ")
        raise TreatyError(f"{path}: {field}: {told}" if field else f"{path}: {told}") from error
