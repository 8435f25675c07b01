"""A privacy budget: what an owner grants."""

import math
from dataclasses import dataclass
from fractions import Fraction

from treaty.errors import TreatyError


@dataclass(frozen=True)
class Budget:
    """(ε, δ)-differential privacy towards everybody who sees an owner's answers.

    Args:
        epsilon: ε > 0; infinite means that no noise is asked for.
        delta: δ ∈ [0, 1); 0 is pure ε-differential privacy.
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise TreatyError(f"epsilon must be above 0, not {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise TreatyError(f"delta must be at least 0 and below 1, not {self.delta}")

    @property
    def unlimited(self) -> bool:
        """Whether no noise is asked for."""
        return math.isinf(self.epsilon)

    def split(self, ways: int) -> "Budget":
        """Return the share that each of `ways` releases about one record may spend.

        Used for a record that may sit in up to κ datasets, and for owners that answer several
        learners.
        """
        return Budget(_share(self.epsilon, ways), _share(self.delta, ways))


def _share(whole: float, ways: int) -> float:
    """Return whole/ways, rounded down: all shares together are never more than the whole."""
    share = whole / ways
    if math.isfinite(whole) and Fraction(share) * ways > Fraction(whole):
        share = math.nextafter(share, 0.0)
    return share
