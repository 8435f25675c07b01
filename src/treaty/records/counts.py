"""What happened to records on their way into the public domain."""

from collections import Counter
from dataclasses import dataclass, field

ENOUGH = 10
"""From so many rows on, values that are all strange are no chance."""


@dataclass
class Counts:
    """How many values were changed, by column. For the owner's eyes: it is computed from records.

    Args:
        rows: how many records have been encoded so far.
        clamped: values outside their public bounds.
        missing: missing values that were replaced.
        unknown: categories that are on no public list.
        scaled: records that were scaled down into the public ball.
    """

    rows: int = 0
    clamped: Counter[str] = field(default_factory=Counter[str])
    missing: Counter[str] = field(default_factory=Counter[str])
    unknown: Counter[str] = field(default_factory=Counter[str])
    scaled: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        """Return the counts of both together."""
        return Counts(
            self.rows + other.rows,
            self.clamped + other.clamped,
            self.missing + other.missing,
            self.unknown + other.unknown,
            self.scaled + other.scaled,
        )

    def notes(self) -> list[str]:
        """Return one sentence for each thing that happened."""
        counters = [
            ("clamped into the bounds", self.clamped),
            ("missing, replaced", self.missing),
            ("in no listed category", self.unknown),
        ]
        lines = [
            f"{column}: {count:,} of {self.rows:,} values {what}"
            for what, counter in counters
            for column, count in sorted(counter.items())
            if count
        ]
        if self.scaled:
            lines.append(f"{self.scaled:,} of {self.rows:,} records scaled into the public ball")
        return lines

    def warnings(self) -> list[str]:
        """Return one sentence for each column that is probably written otherwise than it was."""
        counters = [
            (
                "lie outside the bounds and count as these: is it in the same unit",
                self.clamped,
                0.5,
            ),
            (
                "are in no listed category and count as none: are they written alike",
                self.unknown,
                1,
            ),
        ]
        return [
            f"{column}: {count:,} of {self.rows:,} values {what} as in the treaty?"
            for what, counter, share in counters
            for column, count in sorted(counter.items())
            if self.rows >= ENOUGH and count >= share * self.rows
        ]
