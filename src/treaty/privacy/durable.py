"""The durable ledger: one SQLite file that an owner keeps and an auditor can open.

Every grant, answer, refusal and revocation is an event; events are only ever appended, each with a hash
over itself and the hash before it, so that an edit of the past shows. An answer and what it spends are
one event in one transaction, in the one file and on the disk before the answer leaves. A mark beside the
file tells how far it has come, so that an older copy shows.
"""

import functools
import json
import math
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from treaty.errors import Refusal, TreatyError
from treaty.logbook import Broken, Logbook, Mark, NoRoom
from treaty.logbook.logbook import put_in_place
from treaty.logbook.mark import MarkFile, write_mark
from treaty.privacy.budget import Budget
from treaty.privacy.entries import plain_entry, read_entry, read_event
from treaty.privacy.ledger import Entry, Grant, charge, check_room

if TYPE_CHECKING:  # dp-accounting takes a second to import
    from dp_accounting import DpEvent

_FINE = 1 << 80
"""Totals in marks are multiples of 1 over this."""


@dataclass(frozen=True)
class Dataset:
    """The records a ledger guards: how many, and a fingerprint by which a change shows.

    The fingerprint is keyed with a secret of the owner's: without it, nothing about the records can be
    tried out on a ledger or its export.
    """

    records: int
    fingerprint: str


class DurableLedger(Logbook):
    """A ledger in a file, for one dataset and all the treaties it is ever put under.

    Several agents may use one file: every write is a transaction of its own that starts by taking the
    lock, so what has been checked still holds when it is written.

    Args:
        path: the file; it must have been made with `create`.
        marked: whether it is the ledger in use, which must have come as far as its mark says; a copy put
            aside has no mark.
    """

    noun: ClassVar[str] = "ledger"
    application: ClassVar[int] = 0x54524C47
    format: ClassVar[int] = 2
    layout: ClassVar[str] = """
CREATE TABLE grants(
    treaty TEXT PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL, answers INTEGER NOT NULL,
    given INTEGER NOT NULL, revoked INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE caps(seq INTEGER PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL);
CREATE TABLE datasets(seq INTEGER PRIMARY KEY, records INTEGER NOT NULL, fingerprint TEXT NOT NULL);
CREATE TABLE forgotten(seq INTEGER PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL);
CREATE TABLE answers(
    treaty TEXT NOT NULL, run TEXT NOT NULL, round INTEGER NOT NULL, seq INTEGER NOT NULL,
    PRIMARY KEY(treaty, run, round)
) WITHOUT ROWID;
"""

    def __init__(self, path: str | Path, *, marked: bool = True) -> None:
        super().__init__(path)
        self._marks = MarkFile(mark_of(self.path))
        self._marked = marked
        self._total: tuple[Fraction, Fraction] | None = None
        try:
            with self._sound():
                row = self._one(
                    "SELECT records, fingerprint FROM datasets ORDER BY seq DESC LIMIT 1"
                )
                if row is None:
                    raise Broken(f"{self.path}: it guards no dataset")
                self.dataset = Dataset(int(row[0]), str(row[1]))
                if marked:
                    self._check_mark()
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: str | Path, dataset: Dataset, cap: Budget) -> "DurableLedger":
        """Make a new ledger for a dataset, with a cap over all treaties together."""
        path = Path(path)
        if path.exists():
            raise TreatyError(f"{path}: there is a ledger already")
        first = [("open", {**vars(dataset)}), ("cap", _plain(cap))]
        standing = standing_mark(path)
        if mark_of(path).exists() and (standing is None or standing.seq > len(first)):
            raise TreatyError(
                f"{path}: {mark_of(path).name} tells of a ledger that is gone: put it back, or "
                "restore a backup of it (treaty ledger --restore)"
            )
        unfinished = path.with_name(path.name + ".unfinished")
        head = cls._build(unfinished, first)
        # The mark first: a ledger is never without one.
        write_mark(mark_of(path), _mark(head, (Fraction(0), Fraction(0))))
        put_in_place(unfinished, path)
        return cls(path)

    def close(self) -> None:
        """Close the file."""
        super().close()
        self._marks.close()

    def _check_mark(self) -> None:
        """Refuse a ledger that has not come as far as its mark says."""
        mark = self._marks.read()
        if mark is None:
            raise Broken(
                f"{self.path}: {self._marks.path.name} beside it is missing, so nobody can tell whether "
                "this ledger has forgotten answers. If it is a backup, put it back with treaty ledger "
                "--restore"
            )
        if not self.holds(mark):
            seq, _ = self._head()
            raise Broken(
                f"{self.path}: this ledger has forgotten: it ends with event {seq:,}, and event "
                f"{mark.seq:,} had been written, or another one than is there. If it is a backup, put "
                "it back with treaty ledger --restore, which counts as spent what it may have forgotten"
            )
        self._raise_mark()

    def holds(self, mark: Mark) -> bool:
        """Whether the event that a mark tells of is in this ledger."""
        row = self._one("SELECT hash FROM events WHERE seq = ?", mark.seq)
        return row is not None and row[0].hex() == mark.hash

    def _raise_mark(self) -> None:
        self._write_mark(_mark(self._head(), self.committed()))

    def _write_mark(self, mark: Mark) -> None:
        try:
            self._marks.raise_to(mark)
        except OSError as error:
            raise NoRoom(f"{self._marks.path}: cannot be written ({error.strerror})") from error

    def _after_commit(self) -> None:
        super()._after_commit()
        if self._marked and self._last is not None:
            self._write_mark(_mark(self._last, self._total or self.committed()))
        self._total = None

    @property
    def cap(self) -> tuple[Fraction, Fraction]:
        """The (ε, δ) that all treaties together may be granted, exactly."""
        row = self._one("SELECT epsilon, delta FROM caps ORDER BY seq DESC LIMIT 1")
        assert row is not None
        return _fraction(row[0]), _fraction(row[1])

    def set_cap(self, cap: Budget) -> None:
        """Change the cap over all treaties; what is granted already stays granted."""
        with self._writing():
            self._append("cap", _plain(cap))

    def grant(self, grant: Grant) -> None:
        """Write down a grant, if it fits under the cap; a treaty is granted once."""
        self.grant_all([grant])

    def grant_all(self, grants: Iterable[Grant]) -> None:
        """Write down several grants, or none of them."""
        with self._writing():
            for grant in grants:
                self._check_grant(grant)
                body = {"treaty": grant.treaty, **_plain(grant.budget), "answers": grant.answers}
                self._append("grant", body)

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
        return _committed(self.forgotten(), self.grants())

    def charged(self) -> Fraction:
        """Return the ε that counts as spent under the cap, exactly; see `charge`."""
        return sum((charge(grant, given) for grant, given in self.grants()), self.forgotten()[0])

    def forgotten(self) -> tuple[Fraction, Fraction]:
        """Return the (ε, δ) that may have been spent unknown to this ledger, before it was restored."""
        rows = self._all("SELECT epsilon, delta FROM forgotten")
        epsilon = sum((_fraction(row[0]) for row in rows), Fraction(0))
        return epsilon, sum((_fraction(row[1]) for row in rows), Fraction(0))

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
        """Return the answer already given to this question, if there is one.

        It is checked against its hash, and in the one file before it leaves for a second time.
        """
        row = self._one(
            "SELECT seq FROM answers WHERE treaty = ? AND run = ? AND round = ?", treaty, run, round
        )
        if row is None:
            return None
        with self._lock, self._sound():
            if not self._database.in_transaction:
                self._secure(row[0])
            return read_entry(self._event(row[0]))

    def _secure(self, seq: int) -> None:
        """Make sure of an event that another process has written: it may have been cut off just then."""
        self._settle()
        if self._marked and seq > self._marks.reached:
            self._raise_mark()

    def write(self, entry: Entry) -> Entry:
        """Write an entry, spending one answer of its grant, or refuse and write nothing.

        Returns what stands: where another agent was faster with the same question, its answer.
        """
        try:
            with self._writing():
                before = self.entry(entry.treaty, entry.run, entry.round)
                if before is None or not before.asks_the_same(entry):
                    self._check_and_append(entry, before)
                    return entry
        finally:
            self._total = None
        # Made sure of, now that no transaction is open.
        standing = self.entry(entry.treaty, entry.run, entry.round)
        assert standing is not None
        return standing

    def _check_and_append(self, entry: Entry, before: Entry | None) -> None:
        grants = {grant.treaty: (grant, given) for grant, given in self.grants()}
        grant, given = grants.get(entry.treaty, (None, 0))
        check_room(entry, grant, given, before)
        assert grant is not None
        grants[entry.treaty] = (grant, given + 1)
        forgotten = charges, deltas = self.forgotten()
        charges += sum((charge(g, n) for g, n in grants.values()), Fraction(0))
        deltas += sum((Fraction(g.budget.delta) for g, n in grants.values() if n), Fraction(0))
        most_epsilon, most_delta = self.cap
        if charges > most_epsilon or deltas > most_delta:
            raise Refusal("the cap over all treaties of this dataset is reached")
        self._append("answer", plain_entry(entry))
        self._total = _committed(forgotten, grants.values())

    def answers_given(self, treaty: str) -> int:
        """Return how many answers this treaty has had."""
        row = self._one("SELECT given FROM grants WHERE treaty = ?", treaty)
        return 0 if row is None else int(row[0])

    def released(self, treaty: str) -> "Mapping[DpEvent, int]":
        """Return what answers under this treaty have released, and how often."""
        rows = self._all(
            "SELECT json_extract(events.body, '$.event'), count(*) FROM events JOIN answers USING (seq) "
            "WHERE answers.treaty = ? GROUP BY 1",
            treaty,
        )
        return {read_event(json.loads(event)): int(times) for event, times in rows}

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
        with self._writing():
            own = [g for g, _ in self.grants() if g.treaty.partition("/")[0] == treaty]
            if not own:
                raise Refusal(f"treaty {treaty[:12]} has been granted no budget")
            standing = [grant.treaty for grant in own if not grant.revoked]
            if not standing:
                raise Refusal(f"treaty {treaty[:12]} has been revoked already")
            for name in standing:
                self._append("revocation", {"treaty": name})
        return standing

    def refused(self, what: dict[str, Any]) -> None:
        """Write down a refusal; it spends nothing."""
        with self._writing():
            self._append("refusal", what)

    def backup(self, path: str | Path, files: Mapping[str, str] | None = None) -> int:
        """Copy the ledger into a new file while it is in use; return how many events it holds.

        A backup is put back with `treaty.privacy.restoring`: it has forgotten what came later.

        Args:
            path: the new file.
            files: what else is to be kept, by name: the last event of the copy.
        """
        path = Path(path)
        if path.exists():
            raise TreatyError(f"{path}: exists already; a backup is never written over")
        self.copy(path)
        copied = DurableLedger(path, marked=False)
        try:
            if files:
                with copied._writing():
                    copied._append("files", dict(files))
            copied.verify()
            return copied._head()[0]
        finally:
            copied.close()

    def files(self) -> dict[str, str]:
        """Return what a backup keeps beside the ledger, by name."""
        row = self._one("SELECT body FROM events WHERE kind = 'files' ORDER BY seq DESC LIMIT 1")
        return {} if row is None else {str(k): str(v) for k, v in json.loads(row[0]).items()}

    def close_all(
        self, dataset: Dataset, totals: Iterable[tuple[Fraction, Fraction]]
    ) -> tuple[Fraction, Mark]:
        """Write down that this is a restored copy; return the ε that counts as lost, and its mark.

        Every open grant is closed and counts as spent in full. Beyond that, as much counts as spent as
        the largest of the totals says was granted.

        Args:
            dataset: the records, as they must be from now on.
            totals: what is known of the (ε, δ) granted or spent since the copy was made.
        """
        with self._writing():
            before, known = self.charged(), self.committed()
            largest = [max(part) for part in zip(known, *totals, strict=True)]
            epsilon, delta = (most - part for most, part in zip(largest, known, strict=True))
            body = {**vars(dataset), "epsilon": str(epsilon), "delta": str(delta)}
            self._append("restoration", body)
            lost = self.charged() - before
        return lost, _mark(self._head(), self.committed())

    @classmethod
    def _index(
        cls, database: sqlite3.Connection, kind: str, body: dict[str, Any], seq: int
    ) -> None:
        if kind in ("grant", "cap", "restoration"):
            epsilon, delta = _fraction(body["epsilon"]), _fraction(body["delta"])
            if epsilon < 0 or delta < 0 or (kind == "grant" and body["answers"] < 1):
                raise ValueError(kind)
        if kind == "grant":
            database.execute(
                "INSERT INTO grants VALUES (?, ?, ?, ?, 0, 0)",
                (body["treaty"], body["epsilon"], body["delta"], body["answers"]),
            )
        elif kind == "cap":
            database.execute(
                "INSERT INTO caps VALUES (?, ?, ?)", (seq, body["epsilon"], body["delta"])
            )
        elif kind == "answer":
            key = (body["treaty"], body["run"], body["round"], seq)
            database.execute("INSERT INTO answers VALUES (?, ?, ?, ?)", key)
            changed = database.execute(
                "UPDATE grants SET given = given + 1 WHERE treaty = ?", key[:1]
            )
            if changed.rowcount != 1:
                raise KeyError(body["treaty"])
        elif kind == "revocation":
            database.execute("UPDATE grants SET revoked = 1 WHERE treaty = ?", (body["treaty"],))
        elif kind in ("open", "restoration"):
            database.execute(
                "INSERT INTO datasets VALUES (?, ?, ?)", (seq, body["records"], body["fingerprint"])
            )
            if kind == "restoration":
                database.execute("UPDATE grants SET given = answers, revoked = 1 WHERE revoked = 0")
                database.execute(
                    "INSERT INTO forgotten VALUES (?, ?, ?)", (seq, body["epsilon"], body["delta"])
                )
        elif kind not in ("refusal", "files"):
            raise KeyError(kind)


def mark_of(path: Path) -> Path:
    """Return the file of a ledger's mark."""
    return path.with_name(path.stem + ".mark")


def standing_mark(path: Path) -> Mark | None:
    """Return what a ledger's mark tells; None if it is lost or damaged, too."""
    marks = MarkFile(mark_of(path))
    try:
        return marks.read()
    except TreatyError:
        return None
    finally:
        marks.close()


def _committed(
    forgotten: tuple[Fraction, Fraction], grants: Iterable[tuple[Grant, int]]
) -> tuple[Fraction, Fraction]:
    epsilon, delta = forgotten
    for grant, given in grants:
        if grant.revoked:
            epsilon += charge(grant, given)
            delta += Fraction(grant.budget.delta) if given else 0
        else:
            epsilon += Fraction(grant.budget.epsilon)
            delta += Fraction(grant.budget.delta)
    return epsilon, delta


def _mark(head: tuple[int, bytes], total: tuple[Fraction, Fraction]) -> Mark:
    """Return the mark of a ledger; its total is rounded up, so that it stays short."""
    epsilon, delta = (Fraction(math.ceil(part * _FINE), _FINE) for part in total)
    return Mark(head[0], head[1].hex(), {"epsilon": str(epsilon), "delta": str(delta)})


def _plain(budget: Budget) -> dict[str, str]:
    return {"epsilon": _exact(budget.epsilon), "delta": _exact(budget.delta)}


def _exact(number: float) -> str:
    return str(Fraction(number))


@functools.lru_cache(maxsize=1024)
def _fraction(text: str) -> Fraction:
    return Fraction(text)


def _grant(row: tuple[Any, ...]) -> Grant:
    treaty, epsilon, delta, answers, revoked = row
    budget = Budget(float(_fraction(epsilon)), float(_fraction(delta)))
    return Grant(treaty, budget, int(answers), bool(revoked))
