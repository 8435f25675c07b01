"""Whether a coalition holds, by what its members and others gain on their own records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treaty.gains import OwnGain


@dataclass(frozen=True)
class Stability:
    """Who would rather be elsewhere than where a coalition puts it.

    Args:
        would_leave: members whose own errors would be lower without joining.
        would_join: others whose own errors would be lower, worth their while, if they were in.
        known: owners of whom the evidence tells enough.
        owners: how many owners there are.
    """

    would_leave: tuple[str, ...]
    would_join: tuple[str, ...]
    known: tuple[str, ...]
    owners: int

    @property
    def stable(self) -> bool:
        """Whether nobody that is known would rather be elsewhere."""
        return not (self.would_leave or self.would_join)

    def sentence(self) -> str:
        """Say it in one sentence."""
        of = f"of {len(self.known)} of {self.owners} owners that the evidence tells enough of"
        if self.stable:
            return (
                "By what it does to their own records the coalition is stable: nobody in it would "
                f"rather stay away, nobody outside would rather be in ({of})."
            )
        parts: list[str] = []
        if self.would_leave:
            parts.append(f"{', '.join(self.would_leave)} would rather stay away")
        if self.would_join:
            parts.append(f"{', '.join(self.would_join)} would rather be in")
        told = " and ".join(parts)
        return f"By what it does to their own records the coalition is not stable: {told} ({of})."

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "stable": self.stable,
            "would_leave": list(self.would_leave),
            "would_join": list(self.would_join),
            "owners_known": list(self.known),
        }


def stability_of(
    coalition: Sequence[str], gains: Mapping[str, OwnGain], owners: int
) -> Stability | None:
    """Return whether a coalition is stable, or None where nothing is known of anybody.

    Args:
        coalition: its members.
        gains: what each owner gains by training with it, by name.
        owners: how many owners there are.
    """
    if not gains:
        return None
    return Stability(
        would_leave=tuple(n for n in gains if n in coalition and gains[n].decision == "stay away"),
        would_join=tuple(n for n in gains if n not in coalition and gains[n].decision == "join"),
        known=tuple(gains),
        owners=owners,
    )
