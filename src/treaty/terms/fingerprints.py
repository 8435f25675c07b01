"""The canonical form of a treaty, and its fingerprint."""

import hashlib
import json
from typing import Any

from treaty.terms.document import Treaty


def canonical(treaty: Treaty) -> str:
    """Return the one text of everything a treaty means: defaults filled in, keys sorted.

    Numbers that mean the same are written the same: an int where a float belongs has become a
    float when the document was read, and −0 becomes 0.
    """
    return json.dumps(
        _plain(treaty.model_dump(mode="python")),
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )


def fingerprint(treaty: Treaty) -> str:
    """Return the SHA-256 of the canonical form, in hexadecimal."""
    return hashlib.sha256(canonical(treaty).encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, float):
        return repr(value + 0.0)
    return value
