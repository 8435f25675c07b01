"""A number with an interval."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A point estimate and a 90% confidence interval.

    Args:
        value: the value.
        low: the lower end.
        high: the upper end.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"

    def plain(self) -> dict[str, float]:
        """Return it as plain data."""
        return {"value": self.value, "low": self.low, "high": self.high}
