"""One trial of an experiment: what is run, and what it came to."""

from dataclasses import dataclass
from typing import Literal

from treaty.plain import Plain

SettingName = Literal["W lending", "W fraud", "F lending", "F hospital", "F fraud"]
Noise = Literal["read off", "supremum", "corrected"]
"""Which Ξ each owner's noise is made for, and for how many answers.

- "read off": the largest gradient among the private records, at the public rows' model, and noise for T
  answers. The papers give no number for Ξ. Not private: Ξ itself tells about a record, and on the way
  to that model gradients can be larger.
- "supremum": over the public domain and all of Θ, for T answers: what the papers' theorems need.
- "corrected": gradients clipped to a norm C chosen on public rows, Ξ = C, where that is less than the
  supremum; and noise for as many answers as an owner gives at most, which it enforces.
"""


@dataclass(frozen=True)
class Trial:
    """What is run.

    Args:
        setting: the name of the setting.
        sizes: how many records each owner has; None for the owners named in the rows.
        budgets: ε of every owner, or one for all.
        noise: which Ξ the noise is made for, and for how many answers.
        step: the learner's step size: c₁ or ρ.
        every: whether ψ is kept after every round.
        foretold: whether it is forecast, too.
    """

    setting: SettingName
    sizes: tuple[int, ...] | None
    budgets: tuple[float, ...]
    noise: Noise
    step: float
    every: bool = False
    foretold: bool = False


@dataclass(frozen=True)
class Step:
    """A step size that is to be chosen on public rows.

    Args:
        setting: the name of the setting.
        noise: which Ξ the noise is made for, and for how many answers.
        sizes: how many records each owner has; None for the owners named in the rows.
        budgets: the ε it has to serve, all owners having the same.
    """

    setting: SettingName
    noise: Noise
    sizes: tuple[int, ...] | None
    budgets: tuple[float, ...] = (0.1, 1.0, 10.0)


class Outcome(Plain):
    """What the runs of a trial came to.

    Args:
        mean: the mean of ψ at the end.
        error: its Monte-Carlo standard error.
        rounds: the rounds that were recorded.
        p25: the 25% percentile of ψ after each of them.
        median: the median.
        p75: the 75% percentile.
        forecast: the ψ that was forecast from the public rows, with its 90% interval.
    """

    mean: float
    error: float
    rounds: tuple[int, ...]
    p25: tuple[float, ...]
    median: tuple[float, ...]
    p75: tuple[float, ...]
    forecast: tuple[float, float, float] | None = None

    @property
    def spread(self) -> float:
        """The distance of the quartiles at the end."""
        return self.p75[-1] - self.p25[-1]
