"""W's two tasks: lending interest rates and card fraud, each drawn in five figures."""

from dataclasses import dataclass

from treaty.papers.experiment import BUDGETS, FRAUD_SIZES, LENDING_SIZES, Experiment, equal
from treaty.papers.trial import SettingName
from treaty.papers.workshop import Workshop


@dataclass(frozen=True, eq=False)
class Task:
    """One of W's two tasks.

    Args:
        name: its setting.
        what: what is learnt, in words.
        sizes: the n_i of its surface; the largest is that of its first figure.
        lines: the n_i that lines are drawn for, against ε.
        tried: at which n_i claims are tried under other choices.
        first: the n₁ of its scenarios.
        budgets: the ε₁ of its scenarios.
        small: n₂ = n₃ of the scenarios with small owners.
        large: n₂ = n₃ of the others.
    """

    name: SettingName
    what: str
    sizes: tuple[int, ...]
    lines: tuple[int, ...]
    tried: tuple[int, ...]
    first: tuple[int, ...]
    budgets: tuple[float, ...]
    small: int
    large: int

    @property
    def left_open(self) -> str:
        """What the paper leaves open: for the hinge loss, Ξ is the same however it is read."""
        return "c₁ and Ξ" if self.name == "W lending" else "c₁"

    def at(self, workshop: Workshop) -> Experiment:
        """Return its experiment; the step size is chosen for its largest n_i."""
        return Experiment(workshop, self.name, equal(3, self.sizes[-1]))


LENDING = Task(
    "W lending",
    "lending interest rates",
    LENDING_SIZES,
    (25_000, 100_000, 250_000),
    LENDING_SIZES,
    (1_000, 3_000, 10_000, 30_000, 100_000),
    BUDGETS,
    1_000,
    100_000,
)
FRAUD = Task(
    "W fraud",
    "card fraud",
    FRAUD_SIZES,
    (3_000, 10_000, 30_000),
    (1_000, 3_000, 10_000),
    (1_000, 10_000, 30_000),
    (0.1, 1.0, 10.0),
    1_000,
    30_000,
)
