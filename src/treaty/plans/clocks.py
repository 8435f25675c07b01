"""Poisson clocks: which bloc talks to the learner next.

Every bloc has a clock that ticks at its own rate. The first to tick talks. Clocks of owners that
are away, or have given all their answers, stand still; since Poisson clocks have no memory, whoever
remains goes on as if nothing had happened.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.plans.party import Party

_DRAWN = 1 << 16
"""Meetings drawn at once."""

NOBODY = -1
"""What `next` gives for a run in which nobody will ever talk again."""


@dataclass(frozen=True)
class Timetable:
    """When a bloc's clock runs: its rate, its absences, and how many answers it has.

    A bloc is away when any of its members is, and has as many answers as its poorest member.
    """

    rate: float
    away: tuple[tuple[float, float], ...]
    answers: int

    @classmethod
    def of(cls, members: Sequence[Party], answers: Sequence[int]) -> "Timetable":
        """Return the timetable of a bloc.

        Args:
            members: the parties in it.
            answers: how many answers each of them gives at most.
        """
        return cls(
            rate=sum(party.rate for party in members) / len(members),
            away=tuple(interval for party in members for interval in party.away),
            answers=min(answers),
        )


class PoissonClocks:
    """Draws who talks next, for many runs at once.

    Args:
        timetables: one for each bloc.
        random: a generator; who talks when is no secret, so any will do.
        runs: how many runs.
    """

    def __init__(
        self, timetables: Sequence[Timetable], random: np.random.Generator, runs: int
    ) -> None:
        self._random = random
        self._rates = np.array([table.rate for table in timetables])
        self._left = np.tile(np.array([table.answers for table in timetables]), (runs, 1))
        self._away = [(i, *interval) for i, t in enumerate(timetables) for interval in t.away]
        self._changes = np.array(sorted({t for _, *ends in self._away for t in ends} | {math.inf}))
        self._alike = not self._away and len({t.rate for t in timetables}) == 1
        self._runs = np.arange(runs)
        self._ahead: Iterator[tuple[IntArray, FloatArray]] = iter(())
        self.time = np.zeros(runs)

    def next(self) -> IntArray:
        """Return the bloc that talks next in every run; `NOBODY` where none ever will."""
        drawn = next(self._ahead, None)
        if drawn is None and self._alike:
            self._ahead = self._uniform()
            drawn = next(self._ahead, None)
        if drawn is not None:
            chosen, self.time = drawn
            return chosen
        chosen = self._first_tick()
        talking = chosen != NOBODY
        self._left[self._runs[talking], chosen[talking]] -= 1
        return chosen

    def _uniform(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """Draw many steps at once while all clocks run alike and none can be out of answers."""
        runs, blocs = self._left.shape
        steps = min(int(self._left.min()), max(1, _DRAWN // runs))
        chosen = self._random.integers(blocs, size=(steps, runs))
        seat = (self._runs * blocs + chosen).ravel()
        self._left -= np.bincount(seat, minlength=runs * blocs).reshape(runs, blocs)
        waits = self._random.exponential(1.0 / self._rates.sum(), size=(steps, runs))
        return zip(chosen, self.time + waits.cumsum(axis=0), strict=True)

    def _first_tick(self) -> IntArray:
        chosen = np.full(len(self._runs), NOBODY)
        pending = self._runs
        while len(pending):
            rates = self._running(pending)
            total = rates.sum(axis=1)
            following = np.searchsorted(self._changes, self.time[pending], "right")
            change = self._changes[np.minimum(following, len(self._changes) - 1)]
            with np.errstate(divide="ignore"):
                tick = self.time[pending] + self._random.exponential(size=len(pending)) / total
            due = tick < change
            # A clock that starts or stops before the tick makes it void: draw again from there.
            self.time[pending] = np.where(due, tick, np.minimum(change, tick))
            ticking = pending[due]
            bars = self._random.random(len(ticking)) * total[due]
            chosen[ticking] = (rates[due].cumsum(axis=1) <= bars[:, None]).sum(axis=1)
            pending = pending[~due & np.isfinite(change)]
        return chosen

    def _running(self, runs: IntArray) -> FloatArray:
        rates = np.where(self._left[runs] > 0, self._rates, 0.0)
        for bloc, leaves, returns in self._away:
            absent = (self.time[runs] >= leaves) & (self.time[runs] < returns)
            rates[absent, bloc] = 0.0
        return rates
