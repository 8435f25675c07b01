"""The ledger: what an owner has granted, and every answer it has given.

An answer and what it spends are one entry, written before the answer leaves. A repeated query is
answered from the ledger: fresh noise for the same question would be a second release.
"""

import threading
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from dp_accounting import DpEvent

from treaty.errors import Refusal
from treaty.privacy.budget import Budget


@dataclass(frozen=True)
class Grant:
    """What an owner grants a treaty: a budget, spent in equal parts over a number of answers.

    Args:
        treaty: the fingerprint.
        budget: (ε, δ) over all answers.
        answers: how many answers the budget covers; each spends exactly 1/answers of it.
    """

    treaty: str
    budget: Budget
    answers: int


@dataclass(frozen=True)
class Entry:
    """One answer given, with what was asked and what it released."""

    treaty: str
    run: str
    round: int
    theta: tuple[float, ...]
    answer: tuple[float, ...]
    event: DpEvent


class Ledger(Protocol):
    """Where an owner keeps its grants and entries."""

    def grant(self, grant: Grant) -> None:
        """Write down a grant; a treaty is granted once."""
        ...

    def granted(self, treaty: str) -> Grant | None:
        """Return the grant of a treaty, if there is one."""
        ...

    def entry(self, treaty: str, run: str, round: int) -> Entry | None:
        """Return the answer already given to this question, if there is one."""
        ...

    def write(self, entry: Entry) -> None:
        """Write an entry, spending one answer of its grant, or refuse and write nothing."""
        ...

    def answers_given(self, treaty: str) -> int:
        """Return how many answers this treaty has had."""
        ...


def epsilon_spent(ledger: Ledger, treaty: str) -> Fraction:
    """Return the ε spent under a treaty, exactly: answers given / answers granted · ε.

    Under (ε, δ) this is the share of the grant that is used up, which is what an owner wants to
    know; it is not an ε of its own.
    """
    grant = ledger.granted(treaty)
    if grant is None or grant.budget.unlimited:
        return Fraction(0)
    return Fraction(grant.budget.epsilon) * ledger.answers_given(treaty) / grant.answers


class MemoryLedger:
    """A ledger that lives as long as the process: for simulation and in-process training."""

    def __init__(self) -> None:
        self._grants: dict[str, Grant] = {}
        self._entries: dict[tuple[str, str, int], Entry] = {}
        self._given: dict[str, int] = {}
        self._lock = threading.Lock()

    def grant(self, grant: Grant) -> None:
        """Write down a grant; a treaty is granted once."""
        with self._lock:
            if grant.treaty in self._grants:
                raise Refusal(f"treaty {grant.treaty[:12]} has been granted a budget already")
            self._grants[grant.treaty] = grant

    def granted(self, treaty: str) -> Grant | None:
        """Return the grant of a treaty, if there is one."""
        return self._grants.get(treaty)

    def entry(self, treaty: str, run: str, round: int) -> Entry | None:
        """Return the answer already given to this question, if there is one."""
        return self._entries.get((treaty, run, round))

    def write(self, entry: Entry) -> None:
        """Write an entry, spending one answer of its grant, or refuse and write nothing."""
        key = (entry.treaty, entry.run, entry.round)
        with self._lock:
            grant = self._grants.get(entry.treaty)
            given = self._given.get(entry.treaty, 0)
            if grant is None:
                raise Refusal(f"treaty {entry.treaty[:12]} has been granted no budget")
            if key in self._entries:
                raise Refusal(f"round {entry.round} of run {entry.run} has been answered already")
            if given >= grant.answers:
                raise Refusal(
                    f"the budget is spent: {given} of {grant.answers} answers given, "
                    f"epsilon {grant.budget.epsilon:g} used up"
                )
            self._entries[key] = entry
            self._given[entry.treaty] = given + 1

    def answers_given(self, treaty: str) -> int:
        """Return how many answers this treaty has had."""
        return self._given.get(treaty, 0)
