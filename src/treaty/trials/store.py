"""Results kept in a folder, so that an interrupted reproduction goes on where it was."""

import functools
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treaty.errors import TreatyError


class Store:
    """One small file a result, named by a hash of all it depends on.

    Args:
        folder: where; made if it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TreatyError(f"{folder}: cannot be made ({error.strerror})") from error

    def path(self, depends_on: dict[str, Any]) -> Path:
        """Return the file of a result."""
        text = json.dumps({**depends_on, "code": _code()}, sort_keys=True)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"

    def has(self, depends_on: dict[str, Any]) -> bool:
        """Whether a result is there."""
        return self.path(depends_on).exists()

    def get(self, depends_on: dict[str, Any], make: Callable[[], Any]) -> Any:
        """Return a result, from its file or made now; a file that is no JSON is made again."""
        path = self.path(depends_on)
        try:
            return json.loads(path.read_text())
        except (OSError, ValueError):
            pass
        made = make()
        beside = path.with_suffix(f".{os.getpid()}")
        beside.write_text(json.dumps(made))
        beside.replace(path)
        return made


@functools.cache
def _code() -> str:
    """Return a hash of Treaty's code: results of other code are not taken."""
    made = hashlib.sha256()
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        made.update(file.read_bytes())
    return made.hexdigest()
