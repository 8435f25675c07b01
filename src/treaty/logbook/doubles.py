"""Vectors of doubles as text, to the last bit."""

import base64
import struct


def packed(values: tuple[float, ...]) -> str:
    """Return doubles as Base64 of their bytes, little-endian."""
    return base64.b64encode(struct.pack(f"<{len(values)}d", *values)).decode()


def unpacked(text: str) -> tuple[float, ...]:
    """Return the doubles that `packed` made a text of."""
    data = base64.b64decode(text, validate=True)
    return struct.unpack(f"<{len(data) // 8}d", data)
