"""What one model's predictions of held-out records come to."""

from collections.abc import Mapping
from dataclasses import dataclass

from treaty.measures.estimate import Estimate


@dataclass(frozen=True)
class Errors:
    """What one model's predictions of held-out records come to; `errors.rmse` and the like.

    Args:
        measures: every measure by its name, with its interval.
    """

    measures: Mapping[str, Estimate]

    def __getattr__(self, name: str) -> Estimate:
        if name != "measures" and name in self.measures:
            return self.measures[name]
        there = "" if name == "measures" else f"; there are {', '.join(self.measures)}"
        raise AttributeError(f"no measure is called {name}{there}")

    def plain(self) -> dict[str, dict[str, float]]:
        """Return it as plain data."""
        return {name: estimate.plain() for name, estimate in self.measures.items()}
