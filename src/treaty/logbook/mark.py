"""The mark beside a logbook: how far it has come, so that an older copy of it shows.

A copy of a ledger that is put back has forgotten what was answered since. Nothing inside the copy can
tell; the mark, a small file of its own that is written after every event, can. It is brought to the disk
once a second: after a loss of power it may be that much behind, which does no harm to a ledger as such.
"""

import fcntl
import hashlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from treaty.errors import TreatyError
from treaty.private_files import make_private_file, write_private

_SLOT = 1024
"""Bytes of a slot. Two take turns, so that one is whole even if the writing of the other is cut."""
_SYNCED_EVERY = 1.0
"""Seconds."""


@dataclass(frozen=True)
class Mark:
    """The last event that has been written, and what the logbook comes to with it.

    Args:
        seq: the event's number.
        hash: its hash.
        total: what the logbook adds up to, in words of its own.
    """

    seq: int
    hash: str
    total: dict[str, str]


class MarkFile:
    """The file of a mark.

    Args:
        path: where.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reached = 0
        """The event that the mark is known to have come to."""
        self._descriptor = -1
        self._synced = -_SYNCED_EVERY
        self._read = b""
        self._known: list[Mark | None] = [None, None]

    def read(self) -> Mark | None:
        """Return the mark; None if there is no such file.

        Raises:
            TreatyError: there is a file, and no mark in it.
        """
        if not self.path.exists():
            return None
        marks = [slot for slot in self._slots() if slot is not None]
        if not marks:
            raise TreatyError(f"{self.path}: not a mark: the file is damaged")
        return max(marks, key=lambda mark: mark.seq)

    def raise_to(self, mark: Mark) -> None:
        """Write a mark, unless a later one stands already."""
        self._open()
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            slots = self._slots()
            standing = max((slot.seq for slot in slots if slot is not None), default=0)
            self.reached = max(standing, mark.seq)
            if standing >= mark.seq:
                return
            older = min(range(2), key=lambda i: 0 if (slot := slots[i]) is None else slot.seq)
            written, begin = _packed(mark), older * _SLOT
            os.pwrite(self._descriptor, written, begin)
            before = self._read[:begin].ljust(begin, b"\0")
            self._read = before + written + self._read[begin + _SLOT :]
            self._known[older] = mark
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        if time.monotonic() - self._synced >= _SYNCED_EVERY:
            self._sync()

    def _sync(self) -> None:
        os.fdatasync(self._descriptor)
        self._synced = time.monotonic()

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            self._sync()
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> None:
        if self._descriptor < 0:
            if not self.path.exists():
                make_private_file(self.path)
            self._descriptor = os.open(self.path, os.O_RDWR)

    def _slots(self) -> list[Mark | None]:
        self._open()
        data = os.pread(self._descriptor, 2 * _SLOT, 0)
        if data != self._read:
            # Somebody else has written: what one wrote oneself is known.
            self._read = data
            self._known = [_unpacked(data[i * _SLOT : (i + 1) * _SLOT]) for i in range(2)]
        return self._known


def write_mark(path: Path, mark: Mark) -> None:
    """Put a mark in place of whatever was there, on the disk before this returns."""
    write_private(path, _packed(mark))


def _packed(mark: Mark) -> bytes:
    text = json.dumps(vars(mark)).encode()
    packed = hashlib.sha256(text).hexdigest().encode() + text
    if len(packed) > _SLOT:
        raise TreatyError("a mark has outgrown its slot")
    return packed.ljust(_SLOT)


def _unpacked(data: bytes) -> Mark | None:
    digest, text = data[:64], data[64:].rstrip()
    if hashlib.sha256(text).hexdigest().encode() != digest:
        return None
    return Mark(**json.loads(text))
