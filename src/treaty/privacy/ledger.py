"""The ledger: what an owner has granted, and every answer it has given.

An answer and what it spends are one entry, written before the answer leaves. A repeated query is
answered from the ledger: fresh noise for the same question would be a second release.
"""

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from treaty.errors import Refusal
from treaty.privacy.accounting import epsilon_of
from treaty.privacy.budget import Budget

if TYPE_CHECKING:  # dp-accounting takes a second to import
    from dp_accounting import DpEvent

USUAL_QUESTION = "gradient"
"""What is asked where an entry does not say so."""


@dataclass(frozen=True)
class Grant:
    """What an owner grants a treaty: a budget, spent in equal parts over a number of answers.

    Args:
        treaty: the fingerprint.
        budget: (ε, δ) over all answers.
        answers: how many answers the budget covers; each spends exactly 1/answers of it.
        revoked: whether it has been taken back.
    """

    treaty: str
    budget: Budget
    answers: int
    revoked: bool = False


@dataclass(frozen=True)
class Entry:
    """One answer given, with what was asked and what it released.

    Args:
        treaty: under what was asked.
        run: in which training run.
        round: in which round.
        theta: the θ that the question was put at.
        answer: what was answered.
        event: what that released.
        question: what was asked, by name; the mean gradient unless told otherwise.
    """

    treaty: str
    run: str
    round: int
    theta: tuple[float, ...]
    answer: tuple[float, ...]
    event: "DpEvent"
    question: str = USUAL_QUESTION

    def asks_the_same(self, other: "Entry") -> bool:
        """Whether another entry is about the very same question."""
        return (self.question, self.theta) == (other.question, other.theta)


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

    def write(self, entry: Entry) -> Entry:
        """Write an entry, spending one answer of its grant, or refuse and write nothing.

        Returns what stands: where the same question has been answered meanwhile, that answer.
        """
        ...

    def answers_given(self, treaty: str) -> int:
        """Return how many answers this treaty has had."""
        ...

    def released(self, treaty: str) -> "Mapping[DpEvent, int]":
        """Return what answers under this treaty have released, and how often."""
        ...


def epsilon_spent(ledger: Ledger, treaty: str) -> float:
    """Return the ε that the answers given under a treaty come to together, at the δ of its grant.

    Infinite where an answer was given without noise.
    """
    grant = ledger.granted(treaty)
    return 0.0 if grant is None else epsilon_of(ledger.released(treaty), grant.budget.delta)


def charge(grant: Grant, given: int) -> Fraction:
    """Return the ε that so many answers count for under a cap, over all treaties together.

    Pure ε adds up answer by answer. Of an (ε, δ) grant a part of the answers is not a part of the ε at
    the same δ: with the first answer all of it counts.
    """
    if grant.budget.delta > 0:
        return Fraction(grant.budget.epsilon) if given else Fraction(0)
    return Fraction(grant.budget.epsilon) * given / grant.answers


def check_room(entry: Entry, grant: Grant | None, given: int, before: Entry | None) -> None:
    """Refuse an entry that its grant does not cover.

    Args:
        entry: what is to be written.
        grant: that of its treaty, if any.
        given: how many answers have been given under it.
        before: what has been answered to a question of that run and round.
    """
    if grant is None:
        raise Refusal(f"treaty {entry.treaty[:12]} has been granted no budget")
    if grant.revoked:
        raise Refusal(f"treaty {entry.treaty[:12]} has been revoked")
    if before is not None:
        raise Refusal(f"round {entry.round} of run {entry.run} has been asked with another theta")
    if given >= grant.answers:
        raise Refusal(
            f"the budget is spent: {given} of {grant.answers} answers given, "
            f"epsilon {grant.budget.epsilon:g} used up"
        )


class MemoryLedger:
    """A ledger that lives as long as the process: for simulation and in-process training.

    Args:
        grants: what is granted from the start.
    """

    def __init__(self, *grants: Grant) -> None:
        self._grants: dict[str, Grant] = {grant.treaty: grant for grant in grants}
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

    def write(self, entry: Entry) -> Entry:
        """Write an entry, spending one answer of its grant, or refuse and write nothing."""
        key = (entry.treaty, entry.run, entry.round)
        with self._lock:
            before, given = self._entries.get(key), self._given.get(entry.treaty, 0)
            if before is not None and before.asks_the_same(entry):
                return before
            check_room(entry, self._grants.get(entry.treaty), given, before)
            self._entries[key] = entry
            self._given[entry.treaty] = given + 1
            return entry

    def answers_given(self, treaty: str) -> int:
        """Return how many answers this treaty has had."""
        return self._given.get(treaty, 0)

    def released(self, treaty: str) -> "Mapping[DpEvent, int]":
        """Return what answers under this treaty have released, and how often."""
        return Counter(e.event for (own, _, _), e in self._entries.items() if own == treaty)
