"""A party: an owner as the others know it."""

import math
from dataclasses import dataclass

from treaty.errors import TreatyError
from treaty.privacy import Budget


@dataclass(frozen=True)
class Party:
    """An owner as the others know it.

    Args:
        name: its name.
        records: n_i.
        budget: (ε_i, δ_i), over the whole training.
        answers: T_i, how many answers it gives at most; the horizon if not given. An owner that
            enforces a smaller cap needs proportionally less noise.
        rate: how often its clock ticks, relative to the others (asynchronous learning only).
        away: intervals of clock time during which it does not answer (asynchronous only). An owner
            of rate 1 ticks about once per unit of time.
    """

    name: str
    records: int
    budget: Budget
    answers: int | None = None
    rate: float = 1.0
    away: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        if self.records < 1:
            raise TreatyError(f"{self.name} has no records")
        if self.answers is not None and self.answers < 1:
            raise TreatyError(f"{self.name} must give at least 1 answer, not {self.answers}")
        if not (self.rate > 0 and math.isfinite(self.rate)):
            raise TreatyError(f"{self.name}'s rate must be a positive number, not {self.rate}")
        for leaves, returns in self.away:
            if not 0 <= leaves < returns:
                raise TreatyError(f"{self.name} cannot be away from {leaves:g} to {returns:g}")
