"""The learner's journal: whom it met in every round and what it was told, so that it can go on.

A learner is a state machine: told the same answers in the same order it comes to the same model, bit for
bit. So its journal is its checkpoint. Whom a round is with is written before anybody is asked: after a
crash the same owner is asked the same question, and answers with what its ledger holds.
"""

import json
import secrets
import sqlite3
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from treaty.errors import TreatyError

_LAYOUT = """
CREATE TABLE run(run TEXT NOT NULL, treaty TEXT NOT NULL, setting TEXT NOT NULL);
CREATE TABLE meetings(round INTEGER PRIMARY KEY, bloc INTEGER NOT NULL);
CREATE TABLE answers(
    round INTEGER NOT NULL, owner INTEGER NOT NULL, gradient BLOB NOT NULL, PRIMARY KEY(round, owner)
);
CREATE TABLE told(round INTEGER PRIMARY KEY);
"""


@dataclass(frozen=True)
class Round:
    """One round as it was: the bloc it was with, and every member's answer by its index."""

    number: int
    bloc: int
    answers: dict[int, tuple[float, ...]]


class Journal:
    """A journal in a file; opening one that exists goes on with its run.

    Args:
        path: the file.
        treaty: the treaty's fingerprint; a journal of another treaty is refused.
        setting: what else must be the same for the run to go on, such as step sizes.
    """

    def __init__(self, path: str | Path, treaty: str, setting: dict[str, float]) -> None:
        self.path = Path(path)
        self._database = sqlite3.connect(self.path, isolation_level=None)
        try:
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.execute("BEGIN IMMEDIATE")
            if not self._database.execute("SELECT 1 FROM sqlite_master").fetchone():
                for statement in _LAYOUT.split(";"):
                    self._database.execute(statement)
                self._database.execute(
                    "INSERT INTO run VALUES (?, ?, ?)",
                    (secrets.token_hex(16), treaty, json.dumps(setting, sort_keys=True)),
                )
            self._database.execute("COMMIT")
            row = self._database.execute("SELECT run, treaty, setting FROM run").fetchone()
        except sqlite3.DatabaseError as error:
            self._database.close()
            raise TreatyError(f"{self.path}: not a journal ({error})") from error
        self.run = str(row[0])
        if row[1] != treaty or row[2] != json.dumps(setting, sort_keys=True):
            self._database.close()
            raise TreatyError(
                f"{self.path}: the journal of another training: its treaty or its step sizes differ; "
                "go on with those, or begin anew with another --journal"
            )

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def meet(self, round: int, bloc: int) -> None:
        """Write down whom a round is with."""
        self._database.execute("INSERT INTO meetings VALUES (?, ?)", (round, bloc))

    def part(self, round: int) -> None:
        """Write down that whom a round was with is not waited for any longer."""
        self._database.execute("DELETE FROM meetings WHERE round = ?", (round,))

    def met(self, round: int) -> int | None:
        """Return whom a round is with, if that has been settled."""
        row = self._database.execute(
            "SELECT bloc FROM meetings WHERE round = ?", (round,)
        ).fetchone()
        return None if row is None else int(row[0])

    def hear(self, round: int, answers: dict[int, tuple[float, ...]]) -> None:
        """Write down what a round came to."""
        self._database.execute("BEGIN IMMEDIATE")
        self._database.executemany(
            "INSERT INTO answers VALUES (?, ?, ?)",
            [
                (round, owner, struct.pack(f"<{len(values)}d", *values))
                for owner, values in sorted(answers.items())
            ],
        )
        self._database.execute("INSERT INTO told VALUES (?)", (round,))
        self._database.execute("COMMIT")

    def rounds(self) -> Iterator[Round]:
        """Return every round that is over, in order."""
        over = self._database.execute(
            "SELECT round, bloc FROM told JOIN meetings USING(round) ORDER BY round"
        ).fetchall()
        for number, bloc in over:
            rows = self._database.execute(
                "SELECT owner, gradient FROM answers WHERE round = ? ORDER BY owner", (number,)
            ).fetchall()
            answers = {owner: struct.unpack(f"<{len(g) // 8}d", g) for owner, g in rows}
            yield Round(number, bloc, answers)

    def given(self) -> dict[int, int]:
        """Return how many answers each owner has given, by its index."""
        rows = self._database.execute("SELECT owner, count(*) FROM answers GROUP BY owner")
        return {int(owner): int(count) for owner, count in rows.fetchall()}
