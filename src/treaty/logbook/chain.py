"""The chain of a logbook's events: each has a hash over itself and the one before."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from treaty.errors import TreatyError

START = bytes(32)
"""The hash before the first event."""


@dataclass(frozen=True)
class Event:
    """One line of a logbook.

    Args:
        seq: its number, from 1.
        time: when, in UTC.
        kind: what kind of event it is.
        body: what, as plain data.
        hash: over itself and the hash before.
    """

    seq: int
    time: str
    kind: str
    body: dict[str, Any]
    hash: str

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return vars(self)


def verify_events(events: Iterable[Event]) -> str:
    """Check the hashes of an export's events; return the last one."""
    before = START
    for number, event in enumerate(events, 1):
        expected = link(before, event.seq, event.time, event.kind, canonical(event.body))
        if event.seq != number or expected.hex() != event.hash:
            raise TreatyError(f"event {number} of the ledger is not what was written")
        before = expected
    return before.hex()


def link(before: bytes, seq: int, time: str, kind: str, body: str) -> bytes:
    """Return the hash of an event, given the one before."""
    text = json.dumps([seq, time, kind, body], ensure_ascii=True)
    return hashlib.sha256(before + text.encode()).digest()


def canonical(body: dict[str, Any]) -> str:
    """Return a body as the one text that is hashed."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
