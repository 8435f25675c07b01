"""What the papers claim, and whether it holds here: a verdict that is computed, with its number."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from treaty.arrays import FloatArray

Verdict = Literal["holds", "holds in part", "does not hold"]


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and what came of it here.

    Args:
        key: a short name.
        figure: the figure it is about.
        statement: what the paper says.
        verdict: whether it holds here.
        number: the number behind the verdict.
        measures: what that number is.
        detail: what else was seen: other parts, other choices.
        corrected: whether it holds with corrected noise, where that can be asked.
    """

    key: str
    figure: str
    statement: str
    verdict: Verdict
    number: float
    measures: str
    detail: str = ""
    corrected: Verdict | None = None

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return dict(vars(self))


def judge(here: Sequence[bool], elsewhere: Sequence[bool] = ()) -> Verdict:
    """Return a verdict from the parts of a claim as drawn, and from the claim under other choices.

    The papers leave c₁, ρ and Ξ open. A claim holds if all its parts do as drawn, and the claim does
    under at least half of the other choices; it does not hold if no part does, under no choice.

    Args:
        here: every part of the claim, as drawn.
        elsewhere: the whole claim, under every other choice.
    """
    if all(here) and sum(elsewhere) >= 0.5 * len(elsewhere):
        return "holds"
    return "holds in part" if any(here) or any(elsewhere) else "does not hold"


def slope(along: Sequence[float], psi: Sequence[float] | FloatArray) -> float:
    """Return the slope of log ψ against log x, by least squares."""
    seen = np.maximum(np.asarray(psi, dtype=float), 1e-15)
    return float(np.polyfit(np.log(np.asarray(along, dtype=float)), np.log(seen), 1)[0])


def near(value: float, wanted: float, by: float) -> bool:
    """Whether a value is within `by` of what is wanted."""
    return abs(value - wanted) <= by


def counted(elsewhere: Sequence[bool], choices: str) -> str:
    """Say under how many other choices a claim holds."""
    if not elsewhere:
        return ""
    return f"Under other choices of {choices} it holds in {sum(elsewhere)} of {len(elsewhere)}."
