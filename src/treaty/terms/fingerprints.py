"""The canonical form of a treaty, and its fingerprint."""

import hashlib
import json
from typing import Any

from treaty.terms.document import Treaty

LATER = (
    ("target", "unit"),
    ("target", "label"),
    ("loss", "class_weights"),
    ("training", "axes"),
    ("fitted", "axes"),
)
"""Fields that the document got after treaties had been ratified without them."""


def canonical(treaty: Treaty) -> str:
    """Return the one text of everything a treaty means: defaults filled in, keys sorted.

    Numbers that mean the same are written the same: an int where a float belongs has become a
    float when the document was read, and −0 becomes 0. What the document could not say at first is left
    out where it says nothing, so that treaties keep the fingerprints under which they were ratified.
    """
    data = treaty.model_dump(mode="python")
    for section, name in LATER:
        if data[section] is not None and not data[section][name]:
            del data[section][name]
    for feature in data["features"].values():
        if feature.get("texts") == "refused":
            del feature["texts"]
    return json.dumps(
        _plain(data),
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
