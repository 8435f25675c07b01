"""The learner's journal: whom it met in every round and what it was told, so that it can go on.

A learner is a state machine: told the same answers in the same order it comes to the same model, bit for
bit. So its journal is its checkpoint. Whom a round is with is written before anybody is asked: after a
crash the same owner is asked the same question, and answers with what its ledger holds. Its events are
chained: a journal that has been damaged is refused, and never gives another model.
"""

import contextlib
import json
import secrets
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from treaty.errors import TreatyError
from treaty.logbook import Broken, Logbook
from treaty.logbook.doubles import packed, unpacked
from treaty.logbook.logbook import put_in_place


@dataclass(frozen=True)
class Round:
    """One round as it was: the bloc it was with, and every member's answer by its index."""

    number: int
    bloc: int
    answers: dict[int, tuple[float, ...]]


def begun_elsewhere(path: Path, treaty: str) -> Path | None:
    """Return another journal of the same treaty in the folder of one that is about to begin.

    Args:
        path: where the journal would be.
        treaty: the treaty's fingerprint.
    """
    if path.exists():
        return None
    for other in sorted(path.parent.glob(f"*{path.suffix}")):
        if _treaty_of(other) == treaty:
            return other
    return None


def _treaty_of(path: Path) -> str | None:
    """Return the fingerprint of the treaty that a journal is of; None for any other file."""
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        ) as db:
            row = db.execute("SELECT treaty FROM runs").fetchone()
    except sqlite3.Error:
        return None  # some other file of that name, or one that is being written
    return None if row is None else str(row[0])


class Journal(Logbook):
    """A journal in a file, for one learner at a time; opening one that exists goes on with its run.

    What cannot be written for want of room can be written again later: nothing is written twice.

    Args:
        path: the file.
        treaty: the treaty's fingerprint; a journal of another treaty is refused.
        setting: what else must be the same for the run to go on, such as step sizes.
    """

    noun: ClassVar[str] = "journal"
    application: ClassVar[int] = 0x54524A4E
    format: ClassVar[int] = 2
    alone: ClassVar[bool] = True
    layout: ClassVar[str] = """
CREATE TABLE runs(
    seq INTEGER PRIMARY KEY, run TEXT NOT NULL, treaty TEXT NOT NULL, setting TEXT NOT NULL
);
CREATE TABLE meetings(round INTEGER PRIMARY KEY, bloc INTEGER NOT NULL);
CREATE TABLE rounds(round INTEGER PRIMARY KEY, seq INTEGER NOT NULL);
"""

    def __init__(self, path: str | Path, treaty: str, setting: dict[str, float]) -> None:
        path = Path(path)
        wanted = json.dumps(setting, sort_keys=True)
        if not path.exists():
            body = {"run": secrets.token_hex(16), "treaty": treaty, "setting": wanted}
            unfinished = path.with_name(path.name + ".unfinished")
            self._build(unfinished, [("run", body)])
            put_in_place(unfinished, path)
        super().__init__(path)
        try:
            self.verify()
            row = self._one("SELECT run, treaty, setting FROM runs")
            if row is None:
                raise Broken(f"{self.path}: it is of no run")
            self.run = str(row[0])
            if row[1:] != (treaty, wanted):
                raise TreatyError(
                    f"{self.path}: the journal of another training: its treaty or its step sizes "
                    "differ; go on with those, or begin anew with another `journal`"
                )
        except BaseException:
            self.close()
            raise

    def meet(self, round: int, bloc: int) -> None:
        """Write down whom a round is with."""
        with self._writing():
            if self.met(round) != bloc:
                self._append("meeting", {"round": round, "bloc": bloc})

    def part(self, round: int) -> None:
        """Write down that the bloc of this round refused or was late, so that another may be chosen."""
        with self._writing():
            if self.met(round) is not None:
                self._append("parting", {"round": round})

    def met(self, round: int) -> int | None:
        """Return whom a round is with, if that has been settled."""
        row = self._one("SELECT bloc FROM meetings WHERE round = ?", round)
        return None if row is None else int(row[0])

    def hear(self, past: Round) -> None:
        """Write down what a round came to."""
        answers = {str(owner): packed(values) for owner, values in past.answers.items()}
        with self._writing():
            if self._one("SELECT 1 FROM rounds WHERE round = ?", past.number) is None:
                body = {"round": past.number, "bloc": past.bloc, "answers": answers}
                self._append("round", body)

    def rounds(self) -> Iterator[Round]:
        """Return every round that is over, in order."""
        for (seq,) in self._all("SELECT seq FROM rounds ORDER BY round"):
            with self._sound():
                body = self._event(seq)
                answers = {int(owner): unpacked(text) for owner, text in body["answers"].items()}
                past = Round(body["round"], body["bloc"], answers)
            yield past

    @classmethod
    def _index(
        cls, database: sqlite3.Connection, kind: str, body: dict[str, Any], seq: int
    ) -> None:
        if kind == "run":
            database.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?)",
                (seq, body["run"], body["treaty"], body["setting"]),
            )
        elif kind == "meeting":
            database.execute("INSERT INTO meetings VALUES (?, ?)", (body["round"], body["bloc"]))
        elif kind == "parting":
            database.execute("DELETE FROM meetings WHERE round = ?", (body["round"],))
        elif kind == "round":
            database.execute("INSERT INTO rounds VALUES (?, ?)", (body["round"], seq))
        else:
            raise KeyError(kind)
