"""The durable ledger: one SQLite file that an owner keeps and an auditor can open.

Every grant, answer, refusal and revocation is an event; events are only ever appended, each with a hash
over itself and the hash before it, so that an edit of the past shows. An answer and what it spends are
one event in one transaction, on the disk before the answer leaves. The tables beside the events are an
index of them: `verify` makes them anew and compares.
"""

import functools
import json
import sqlite3
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from treaty.errors import Refusal, TreatyError
from treaty.privacy.budget import Budget
from treaty.privacy.chain import START, Event, canonical, link, verify_events
from treaty.privacy.entries import plain_entry, read_entry
from treaty.privacy.ledger import Entry, Grant, charge, check_room

FORMAT = 1
"""The version of the file's layout."""
_LAYOUT = """
CREATE TABLE events(
    seq INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
    hash BLOB NOT NULL
);
CREATE TRIGGER events_stay BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER events_remain BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
CREATE TABLE grants(
    treaty TEXT PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL, answers INTEGER NOT NULL,
    given INTEGER NOT NULL, revoked INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE caps(seq INTEGER PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL);
CREATE TABLE answers(
    treaty TEXT NOT NULL, run TEXT NOT NULL, round INTEGER NOT NULL, seq INTEGER NOT NULL,
    PRIMARY KEY(treaty, run, round)
) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Dataset:
    """The records a ledger guards: how many, and a fingerprint by which a change shows."""

    records: int
    fingerprint: str


class DurableLedger:
    """A ledger in a file, for one dataset and all the treaties it is ever put under.

    Several agents may use one file: every write is a transaction of its own that starts by taking the
    lock, so what has been checked still holds when it is written.

    Args:
        path: the file; it must have been made with `create`.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise TreatyError(f"{self.path}: there is no ledger")
        self._lock = threading.RLock()
        self._database = sqlite3.connect(
            self.path, timeout=60.0, isolation_level=None, check_same_thread=False
        )
        try:
            version = int(self._database.execute("PRAGMA user_version").fetchone()[0])
            if version != FORMAT:
                raise TreatyError(
                    f"{self.path}: a ledger of format {version}, and {FORMAT} is understood"
                )
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            opened = self._database.execute("SELECT body FROM events WHERE seq = 1").fetchone()
        except sqlite3.DatabaseError as error:
            self._database.close()
            raise TreatyError(f"{self.path}: not a ledger ({error})") from error
        except TreatyError:
            self._database.close()
            raise
        body = json.loads(opened[0])
        self.dataset = Dataset(body["records"], body["fingerprint"])

    @classmethod
    def create(cls, path: str | Path, dataset: Dataset, cap: Budget) -> "DurableLedger":
        """Make a new ledger for a dataset, with a cap over all treaties together."""
        path = Path(path)
        if path.exists():
            raise TreatyError(f"{path}: there is a ledger already")
        # Made under another name: a ledger is there whole, or not at all.
        unfinished = path.with_name(path.name + ".unfinished")
        unfinished.unlink(missing_ok=True)
        database = sqlite3.connect(unfinished, isolation_level=None)
        try:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            database.executescript(f"BEGIN; {_LAYOUT} PRAGMA user_version = {FORMAT};")
            _append(database, "open", {**vars(dataset)})
            _write_cap(database, cap)
            database.execute("COMMIT")
        finally:
            database.close()
        unfinished.replace(path)
        return cls(path)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @property
    def cap(self) -> tuple[Fraction, Fraction]:
        """The (ε, δ) that all treaties together may be granted, exactly."""
        row = self._one("SELECT epsilon, delta FROM caps ORDER BY seq DESC LIMIT 1")
        assert row is not None
        return _fraction(row[0]), _fraction(row[1])

    def set_cap(self, cap: Budget) -> None:
        """Change the cap over all treaties; what is granted already stays granted."""
        with self._writing() as database:
            _write_cap(database, cap)

    def grant(self, grant: Grant) -> None:
        """Write down a grant, if it fits under the cap; a treaty is granted once."""
        self.grant_all([grant])

    def grant_all(self, grants: Iterable[Grant]) -> None:
        """Write down several grants, or none of them."""
        with self._writing() as database:
            for grant in grants:
                self._check_grant(grant)
                body = {
                    "treaty": grant.treaty,
                    "epsilon": _exact(grant.budget.epsilon),
                    "delta": _exact(grant.budget.delta),
                    "answers": grant.answers,
                }
                _append(database, "grant", body)
                _index(database, "grant", body, 0)

    def _check_grant(self, grant: Grant) -> None:
        if self.granted(grant.treaty) is not None:
            raise Refusal(f"treaty {grant.treaty[:12]} has been granted a budget already")
        if grant.budget.unlimited:
            raise Refusal("a budget without end is never granted to a treaty")
        epsilon, delta = self.committed()
        most_epsilon, most_delta = self.cap
        if epsilon + Fraction(grant.budget.epsilon) > most_epsilon:
            raise Refusal(
                f"epsilon {grant.budget.epsilon:g} does not fit: of {float(most_epsilon):g} for this "
                f"dataset, {float(epsilon):g} is granted or spent"
            )
        if delta + Fraction(grant.budget.delta) > most_delta:
            raise Refusal(
                f"delta {grant.budget.delta:g} does not fit: of {float(most_delta):g} for this "
                f"dataset, {float(delta):g} is granted or spent"
            )

    def committed(self) -> tuple[Fraction, Fraction]:
        """Return the (ε, δ) that is granted or spent: of a revoked treaty only what is spent."""
        epsilon = delta = Fraction(0)
        for grant, given in self.grants():
            if grant.revoked:
                epsilon += charge(grant, given)
                delta += Fraction(grant.budget.delta) if given else 0
            else:
                epsilon += Fraction(grant.budget.epsilon)
                delta += Fraction(grant.budget.delta)
        return epsilon, delta

    def spent(self) -> Fraction:
        """Return the ε spent over all treaties, exactly; see `charge` for treaties with a δ."""
        return sum((charge(grant, given) for grant, given in self.grants()), Fraction(0))

    def grants(self) -> list[tuple[Grant, int]]:
        """Return every grant, with the number of answers given under it."""
        rows = self._all("SELECT treaty, epsilon, delta, answers, revoked, given FROM grants")
        return [(_grant(row[:5]), int(row[5])) for row in rows]

    def granted(self, treaty: str) -> Grant | None:
        """Return the grant of a treaty, if there is one."""
        row = self._one(
            "SELECT treaty, epsilon, delta, answers, revoked FROM grants WHERE treaty = ?", treaty
        )
        return None if row is None else _grant(row)

    def entry(self, treaty: str, run: str, round: int) -> Entry | None:
        """Return the answer already given to this question, if there is one."""
        row = self._one(
            "SELECT e.body FROM answers a JOIN events e USING(seq) "
            "WHERE a.treaty = ? AND a.run = ? AND a.round = ?",
            treaty,
            run,
            round,
        )
        return None if row is None else read_entry(json.loads(row[0]))

    def write(self, entry: Entry) -> Entry:
        """Write an entry, spending one answer of its grant, or refuse and write nothing.

        Returns what stands: where another agent was faster with the same question, its answer.
        """
        with self._writing() as database:
            before = self.entry(entry.treaty, entry.run, entry.round)
            if before is not None and before.theta == entry.theta:
                return before
            grants = {grant.treaty: (grant, given) for grant, given in self.grants()}
            grant, given = grants.get(entry.treaty, (None, 0))
            check_room(entry, grant, given, before)
            assert grant is not None
            grants[entry.treaty] = (grant, given + 1)
            charges = sum((charge(g, n) for g, n in grants.values()), Fraction(0))
            deltas = sum((Fraction(g.budget.delta) for g, n in grants.values() if n), Fraction(0))
            most_epsilon, most_delta = self.cap
            if charges > most_epsilon or deltas > most_delta:
                raise Refusal("the cap over all treaties of this dataset is reached")
            body = plain_entry(entry)
            _index(database, "answer", body, _append(database, "answer", body))
            return entry

    def answers_given(self, treaty: str) -> int:
        """Return how many answers this treaty has had."""
        row = self._one("SELECT given FROM grants WHERE treaty = ?", treaty)
        return 0 if row is None else int(row[0])

    def answers_since(self, time: datetime) -> int:
        """Return how many answers were given since a time, under all treaties."""
        stamp = time.astimezone(UTC).isoformat()
        row = self._one(
            "SELECT count(*) FROM events WHERE kind = 'answer' AND seq > coalesce("
            "(SELECT seq FROM events WHERE time < ? ORDER BY seq DESC LIMIT 1), 0)",
            stamp,
        )
        assert row is not None
        return int(row[0])

    def revoke(self, treaty: str) -> list[str]:
        """Take all grants of a treaty back, its peers' too: nothing more is answered under it."""
        with self._writing() as database:
            own = [g for g, _ in self.grants() if g.treaty.partition("/")[0] == treaty]
            if not own:
                raise Refusal(f"treaty {treaty[:12]} has been granted no budget")
            standing = [grant.treaty for grant in own if not grant.revoked]
            if not standing:
                raise Refusal(f"treaty {treaty[:12]} has been revoked already")
            for name in standing:
                _append(database, "revocation", {"treaty": name})
                _index(database, "revocation", {"treaty": name}, 0)
        return standing

    def refused(self, what: dict[str, Any]) -> None:
        """Write down a refusal; it spends nothing."""
        with self._writing() as database:
            _append(database, "refusal", what)

    def events(self) -> Iterator[Event]:
        """Return every event, oldest first."""
        for row in self._all("SELECT seq, time, kind, body, hash FROM events ORDER BY seq"):
            yield Event(row[0], row[1], row[2], json.loads(row[3]), row[4].hex())

    def verify(self) -> str:
        """Check the chain of hashes and that the index is that of the events; return the last hash.

        Whoever notes that hash elsewhere will also see that the end has been cut off.

        Raises:
            TreatyError: something has been changed; the message says where.
        """
        with self._reading():
            events = list(self.events())
            head = verify_events(events)
            again = sqlite3.connect(":memory:")
            again.executescript(_LAYOUT)
            for event in events:
                _index(again, event.kind, event.body, event.seq)
            for table in ("grants", "answers", "caps"):
                there = self._all(f"SELECT * FROM {table} ORDER BY 1, 2, 3")
                if there != again.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall():
                    raise TreatyError(
                        f"{self.path}: the table of {table} is not that of the events"
                    )
            again.close()
        return head

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
    def _writing(self) -> Generator[sqlite3.Connection]:
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                self._database.execute("ROLLBACK")
                raise

    def _one(self, query: str, *values: object) -> tuple[Any, ...] | None:
        with self._lock:
            return self._database.execute(query, values).fetchone()

    def _all(self, query: str) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._database.execute(query).fetchall()


def _write_cap(database: sqlite3.Connection, cap: Budget) -> None:
    body = {"epsilon": _exact(cap.epsilon), "delta": _exact(cap.delta)}
    _index(database, "cap", body, _append(database, "cap", body))


def _append(database: sqlite3.Connection, kind: str, body: dict[str, Any]) -> int:
    last = database.execute("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1").fetchone()
    seq, before = (1, START) if last is None else (last[0] + 1, last[1])
    time, text = datetime.now(UTC).isoformat(), canonical(body)
    database.execute(
        "INSERT INTO events VALUES (?, ?, ?, ?, ?)",
        (seq, time, kind, text, link(before, seq, time, kind, text)),
    )
    return seq


def _index(database: sqlite3.Connection, kind: str, body: dict[str, Any], seq: int) -> None:
    """Bring the tables up to date with one event."""
    if kind == "grant":
        database.execute(
            "INSERT INTO grants VALUES (?, ?, ?, ?, 0, 0)",
            (body["treaty"], body["epsilon"], body["delta"], body["answers"]),
        )
    elif kind == "cap":
        database.execute("INSERT INTO caps VALUES (?, ?, ?)", (seq, body["epsilon"], body["delta"]))
    elif kind == "answer":
        key = (body["treaty"], body["run"], body["round"], seq)
        database.execute("INSERT INTO answers VALUES (?, ?, ?, ?)", key)
        database.execute("UPDATE grants SET given = given + 1 WHERE treaty = ?", key[:1])
    elif kind == "revocation":
        database.execute("UPDATE grants SET revoked = 1 WHERE treaty = ?", (body["treaty"],))


def _exact(number: float) -> str:
    return str(Fraction(number)) if number != float("inf") else "1/0"


@functools.lru_cache(maxsize=1024)
def _fraction(text: str) -> Fraction:
    return Fraction(text)


def _grant(row: tuple[Any, ...]) -> Grant:
    treaty, epsilon, delta, answers, revoked = row
    budget = Budget(float(_fraction(epsilon)), float(_fraction(delta)))
    return Grant(treaty, budget, int(answers), bool(revoked))
