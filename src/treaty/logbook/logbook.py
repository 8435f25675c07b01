"""A logbook: one SQLite file of chained events, and tables beside them that are an index of the events.

What has been written is in that one file, and on the disk, when the call returns: a copy of the file is
a copy of everything, and the loss of SQLite's write-ahead file loses nothing. Whatever that rests on is
read back from the open database.
"""

import contextlib
import json
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from treaty.errors import TreatyError
from treaty.logbook.chain import START, Event, canonical, link
from treaty.private_files import make_private_file, sync_folder

_EVENTS = """
CREATE TABLE events(
    seq INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
    hash BLOB NOT NULL
);
CREATE TRIGGER events_stay BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER events_remain BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
"""
SETTINGS = {"journal_mode": "wal", "synchronous": 1, "trusted_schema": 0}
"""What is set in every open database, and read back.

With synchronous = NORMAL (1) SQLite brings the write-ahead file to the disk before it moves anything out
of it, and then the one file. `_settle` has that done after every commit: nothing returns before both
have happened. FULL would bring the write-ahead file to the disk once more, OFF (0) neither.
"""
_PATIENCE = 60.0
"""Seconds that one process waits for another that is writing."""
_PORTION = 2_000
"""Events read at once, so that a reader never keeps a writer waiting for long."""
_NO_ROOM = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY}


class Unwritable(TreatyError):
    """A logbook cannot be written just now, for want of room for example; nothing is lost."""


class NoRoom(Unwritable):
    """The disk has no room, or does not take what is written: there may be room again."""


class Broken(TreatyError):
    """A logbook is not what was written."""


class Logbook(ABC):
    """Events in a file, oldest first, for a subclass that says what they mean.

    Args:
        path: the file; it must have been made with `_build`.
    """

    noun: ClassVar[str]
    """What to call it in a message."""
    layout: ClassVar[str]
    """The tables of the index, in SQL."""
    application: ClassVar[int]
    """A number in the file's header that says what it is."""
    format: ClassVar[int]
    """The version of the file's layout."""
    alone: ClassVar[bool] = False
    """Whether nobody else may have it open."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise TreatyError(f"{self.path}: there is no {self.noun}: give the folder that has one")
        self._lock = threading.RLock()
        self._last: tuple[int, bytes] | None = None
        try:
            self._database = sqlite3.connect(
                self.path.absolute().as_uri() + "?mode=rw",
                uri=True,
                timeout=1.0 if self.alone else _PATIENCE,
                isolation_level=None,
                check_same_thread=False,
            )
        except sqlite3.Error as error:
            raise TreatyError(f"{self.path}: cannot be opened ({error})") from error
        try:
            with self._sound():
                self._prepare()
        except BaseException:
            self._database.close()
            raise

    @classmethod
    def _build(cls, path: Path, events: list[tuple[str, dict[str, Any]]]) -> tuple[int, bytes]:
        """Make a file with its first events; return the number and the hash of the last one."""
        for left in (path, *beside(path)):
            left.unlink(missing_ok=True)
        make_private_file(path)
        database = sqlite3.connect(path, isolation_level=None)
        try:
            database.execute("PRAGMA synchronous = FULL")
            database.executescript(
                f"BEGIN; {_EVENTS} {cls.layout} PRAGMA user_version = {cls.format}; "
                f"PRAGMA application_id = {cls.application};"
            )
            last = (0, START)
            for kind, body in events:
                last = _append(database, cls, kind, body)
            database.execute("COMMIT")
            return last
        except sqlite3.OperationalError as error:
            raise Unwritable(f"{path}: cannot be written ({error})") from error
        finally:
            database.close()

    def _prepare(self) -> None:
        run = self._database.execute
        marks = (
            run("PRAGMA application_id").fetchone()[0],
            run("PRAGMA user_version").fetchone()[0],
        )
        if marks[0] != self.application:
            raise Broken(f"{self.path}: not a {self.noun}")
        if marks[1] != self.format:
            raise TreatyError(
                f"{self.path}: a {self.noun} of format {marks[1]}, and {self.format} is understood"
            )
        self._check_schema()
        if self.alone:
            run("PRAGMA locking_mode = EXCLUSIVE")
        for name, value in SETTINGS.items():
            run(f"PRAGMA {name} = {value}")
        found = {name: run(f"PRAGMA {name}").fetchone()[0] for name in SETTINGS}
        if found != SETTINGS:
            raise TreatyError(
                f"{self.path}: SQLite does not keep what it is told: {found} instead of {SETTINGS}"
            )
        if self.alone:
            run("BEGIN IMMEDIATE")
            run("COMMIT")
        self._settle()

    def _check_schema(self) -> None:
        """Refuse a file with other tables, triggers or views than were made."""
        listed = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
        there = self._database.execute(listed).fetchall()
        with contextlib.closing(self._replica()) as made:
            expected = made.execute(listed).fetchall()
        strange = [row for row in there if row not in expected]
        if strange:
            raise Broken(f"{self.path}: the {strange[0][0]} {strange[0][1]} does not belong here")
        if there != expected:
            raise Broken(f"{self.path}: tables of the {self.noun} are missing")

    @classmethod
    def _replica(cls) -> sqlite3.Connection:
        made = sqlite3.connect(":memory:", isolation_level=None)
        made.executescript(_EVENTS + cls.layout)
        return made

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @classmethod
    @abstractmethod
    def _index(
        cls, database: sqlite3.Connection, kind: str, body: dict[str, Any], seq: int
    ) -> None:
        """Bring the tables up to date with one event; raise KeyError for a kind that is unknown."""

    def _append(self, kind: str, body: dict[str, Any]) -> None:
        """Append an event inside `_writing`, and bring the tables up to date."""
        self._last = _append(self._database, type(self), kind, body)

    def events(self) -> Iterator[Event]:
        """Return every event, oldest first."""
        for row in self._rows():
            yield _event(row)

    def latest(self, count: int) -> list[Event]:
        """Return the last events, oldest first."""
        rows = self._all(
            "SELECT seq, time, kind, body, hash FROM events ORDER BY seq DESC LIMIT ?", count
        )
        return [_event(row) for row in reversed(rows)]

    def _rows(self) -> Iterator[tuple[int, str, str, str, bytes]]:
        last = 0
        while portion := self._portion(last):
            yield from portion
            last = portion[-1][0]

    def _portion(self, after: int) -> list[Any]:
        return self._all(
            "SELECT seq, time, kind, body, hash FROM events WHERE seq > ? ORDER BY seq "
            f"LIMIT {_PORTION}",
            after,
        )

    def verify(self) -> str:
        """Check the chain of hashes and that the tables are those of the events; return the last hash.

        Whoever notes that hash elsewhere will also see that the end has been cut off. Memory is bounded,
        however long the past is.

        Raises:
            Broken: something has been changed; the message says where.
        """
        with self._sound(), contextlib.closing(self._replica()) as again:
            self._check_schema()
            last, head = 0, START
            for row in self._rows():
                last, head = self._verified(row, last, head, again)
            with self._reading():
                # What others have appended meanwhile.
                for row in self._portion(last):
                    last, head = self._verified(row, last, head, again)
                self._compare(again)
                found = self._database.execute("PRAGMA integrity_check(1)").fetchone()[0]
                if found != "ok":
                    raise Broken(f"{self.path}: {found}")
        return head.hex()

    def _verified(
        self, row: tuple[Any, ...], last: int, head: bytes, again: sqlite3.Connection
    ) -> tuple[int, bytes]:
        seq, when, kind, text, digest = row
        expected = link(head, seq, when, kind, text)
        if seq != last + 1 or expected != digest:
            raise Broken(f"{self.path}: event {last + 1} is not what was written")
        try:
            self._index(again, kind, json.loads(text), seq)
        except (LookupError, TypeError, ValueError, ArithmeticError, sqlite3.Error) as error:
            raise Broken(f"{self.path}: event {seq} ({kind}) is not understood") from error
        return seq, expected

    def _compare(self, again: sqlite3.Connection) -> None:
        names = again.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        for (table,) in names:
            if table == "events":
                continue
            query = f"SELECT * FROM {table} ORDER BY 1, 2"
            if self._database.execute(query).fetchall() != again.execute(query).fetchall():
                raise Broken(f"{self.path}: the table of {table} is not that of the events")

    def _event(self, seq: int) -> dict[str, Any]:
        """Return the body of one event, having checked its hash against the one before."""
        rows = self._all(
            "SELECT seq, time, kind, body, hash FROM events WHERE seq IN (?, ?) ORDER BY seq",
            seq - 1,
            seq,
        )
        before = START if seq == 1 else rows[0][4]
        _, when, kind, text, digest = rows[-1]
        if rows[-1][0] != seq or link(before, seq, when, kind, text) != digest:
            raise Broken(f"{self.path}: event {seq} is not what was written")
        return json.loads(text)

    def _head(self) -> tuple[int, bytes]:
        row = self._one("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1")
        if row is None:
            raise Broken(f"{self.path}: there are no events in it")
        return row

    def copy(self, path: Path) -> None:
        """Copy everything into a new file that nobody else can read, while the logbook is in use."""
        unfinished = path.with_name(path.name + ".unfinished")
        unfinished.unlink(missing_ok=True)
        try:
            make_private_file(unfinished)
            with self._explained(), contextlib.closing(sqlite3.connect(unfinished)) as copy:
                self._database.backup(copy)
            put_in_place(unfinished, path)
        except OSError as error:
            raise TreatyError(f"{path}: cannot be written ({error.strerror})") from error

    @contextmanager
    def _reading(self) -> Generator[None]:
        """See one state of the file, whoever writes meanwhile."""
        with self._lock:
            self._database.execute("BEGIN")
            try:
                yield
            finally:
                self._database.execute("ROLLBACK")

    @contextmanager
    def _writing(self) -> Generator[None]:
        """Write in one transaction that is in the one file, and on the disk, at the end of this."""
        with self._lock, self._explained():
            self._database.execute("BEGIN IMMEDIATE")
            self._last = None
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise
            if self._last is not None:
                self._after_commit()

    def _after_commit(self) -> None:
        """Do what remains to be done after a commit, before the call returns."""
        self._settle()

    def _settle(self) -> None:
        """Move what the write-ahead file holds into the one file, and bring that to the disk."""
        end = time.monotonic() + _PATIENCE
        while True:
            busy, written, moved = self._database.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
            if not busy and moved == written:
                return
            # While another process does the same, SQLite says so at once instead of waiting.
            if time.monotonic() > end:
                raise Unwritable(f"{self.path}: somebody keeps the {self.noun} from being written")
            time.sleep(0.001)

    @contextmanager
    def _explained(self) -> Generator[None]:
        """Say in words what SQLite says in codes."""
        try:
            yield
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            if code in _NO_ROOM:
                raise NoRoom(f"{self.path}: cannot be written ({error})") from error
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                who = "another process has it open" if self.alone else "it is locked"
                raise Unwritable(f"{self.path}: this {self.noun} is in use: {who}") from error
            raise Broken(f"{self.path}: not a {self.noun} ({error})") from error
        except sqlite3.DatabaseError as error:
            raise Broken(f"{self.path}: not a {self.noun}, or damaged ({error})") from error

    @contextmanager
    def _sound(self) -> Generator[None]:
        """Say in words that a value is not of the kind that was written."""
        try:
            with self._explained():
                yield
        except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
            if isinstance(error, TreatyError):
                raise
            raise Broken(
                f"{self.path}: a {self.noun} with values that were never written"
            ) from error

    def _one(self, query: str, *values: object) -> tuple[Any, ...] | None:
        with self._lock, self._explained():
            return self._database.execute(query, values).fetchone()

    def _all(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock, self._explained():
            return self._database.execute(query, values).fetchall()


def _event(row: tuple[Any, ...]) -> Event:
    seq, when, kind, body, digest = row
    return Event(seq, when, kind, json.loads(body), digest.hex())


def _append(
    database: sqlite3.Connection, of: type[Logbook], kind: str, body: dict[str, Any]
) -> tuple[int, bytes]:
    """Append an event and index it; return its number and its hash."""
    last = database.execute("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1").fetchone()
    seq, before = (1, START) if last is None else (last[0] + 1, last[1])
    when, text = datetime.now(UTC).isoformat(), canonical(body)
    digest = link(before, seq, when, kind, text)
    database.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", (seq, when, kind, text, digest))
    of._index(database, kind, body, seq)  # pyright: ignore[reportPrivateUsage]
    return seq, digest


def put_in_place(finished: Path, path: Path) -> None:
    """Give a finished file its name: it is there whole, or not at all."""
    finished.replace(path)
    sync_folder(path.parent)


def beside(path: Path) -> list[Path]:
    """Return the files that SQLite may keep beside one."""
    return [path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal")]
