"""What the figures of both papers are made of: trials by round, by budget, by size, by both."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from treaty.arrays import FloatArray
from treaty.papers.claim import Claim, counted, judge, near, slope
from treaty.papers.figure import Figure, Grid, Lines, Rounds
from treaty.papers.trial import Noise, Outcome, SettingName, Step, Trial
from treaty.papers.workshop import Workshop

Seen: TypeAlias = Mapping[Trial, Outcome]
Drawing: TypeAlias = Generator[Sequence[Trial], Seen, Figure]
"""A figure in the making: it says which trials it needs, is given their outcomes, and is drawn."""

LENDING_SIZES = (10_000, 25_000, 50_000, 100_000, 250_000)
FRAUD_SIZES = (1_000, 3_000, 10_000, 30_000)
INFINITE = float("inf")
BUDGETS = (0.1, 0.3, 1.0, 3.0, 10.0)
THREE = (0.1, 1.0, 10.0)
OTHER_STEPS = (0.25, 0.5, 2.0, 4.0)
"""By what the step size is multiplied when a claim is tried under other choices."""
VARIANTS: tuple[Noise, Noise] = ("read off", "corrected")
"""What is drawn: as published, and corrected."""
NAMES = {"read off": "as published", "corrected": "corrected noise"}


@dataclass(frozen=True, eq=False)
class Experiment:
    """Trials of one setting, with one step size for all, as the papers have it.

    Args:
        workshop: where they are run.
        name: the setting.
        reference: the sizes that the step size is chosen for.
    """

    workshop: Workshop
    name: SettingName
    reference: tuple[int, ...] | None

    def step(self, noise: Noise) -> float:
        """Return the step size."""
        return self.workshop.step(Step(self.name, noise, self.reference))

    def trial(
        self,
        noise: Noise,
        sizes: tuple[int, ...] | None,
        *budgets: float,
        every: bool = False,
        foretold: bool = True,
    ) -> Trial:
        """Return a trial as it is drawn."""
        return Trial(self.name, sizes, budgets, noise, self.step(noise), every, foretold)

    def others(self, sizes: tuple[int, ...] | None, *budgets: float) -> list[Trial]:
        """Return the same trial under other choices that the papers leave open: the step size, and Ξ.

        The first is as published, with the step size as drawn.
        """
        step = self.step("read off")
        setting = self.workshop.setting(self.name)
        readings: list[Noise] = ["read off"]
        if setting.bound("supremum") > 1.01 * setting.bound("read off"):
            readings.append("supremum")
        return [
            Trial(self.name, sizes, budgets, noise, step * times)
            for noise in readings
            for times in (1.0, *OTHER_STEPS)
        ]

    def rows_for(self, sizes: tuple[int, ...] | None) -> str:
        """Which kind of rows such trials show; for hospitals, also how a part was made whole."""
        setting = self.workshop.setting(self.name)
        if sizes is not None:
            return setting.lab.said(sizes)
        holdings = setting.holdings(None)
        told = (
            f"{setting.lab.said(())}, {len(holdings.records)} hospitals of at least 10,000 records"
        )
        rows = sum(len(part) for part in holdings.rows.values())
        times = sum(holdings.records.values()) / rows
        if times > 1:
            told += (
                f", each row standing for {times:.3g}: own models are those of fewer rows, and look "
                "worse than they would"
            )
        return told

    @property
    def settings(self) -> tuple[str, ...]:
        """The numbers that all its figures share."""
        setting = self.workshop.setting(self.name)
        problem = setting.problem
        symbol = "c₁" if setting.synchronous else "ρ"
        lines = [
            f"{setting.method}, T = {setting.horizon:,}, {self.workshop.runs} runs, seed "
            f"{self.workshop.seed}; {setting.loss.name} loss, g = {problem.ridge / 2:g}·θᵀθ, "
            f"p = {problem.dimension}, θ_max = {problem.theta_max:g}"
        ]
        owners = len(setting.holdings(self.reference).records)
        for noise in VARIANTS:
            lines.append(
                f"{NAMES[noise]}: Ξ = {setting.bound(noise):.4g} ({_WHERE_FROM[noise]}), noise for "
                f"{setting.answers(noise, owners):,} answers of each owner, "
                f"{symbol} = {self.step(noise):.4g}"
            )
        lines.append(f"supremum of the gradient over Θ: {setting.bound('supremum'):.4g}")
        return tuple(lines)


_WHERE_FROM = {
    "read off": "the largest gradient among the private rows: not private, the size the papers' figures "
    "suggest",
    "corrected": "gradients clipped at a norm chosen on public rows, or their supremum",
}


def rounds_panel(at: Experiment, seen: Seen, noise: Noise, sizes: tuple[int, ...] | None) -> Rounds:
    """Return ψ by round for three budgets."""
    return Rounds(
        NAMES[noise], {f"ε = {e:g}": seen[at.trial(noise, sizes, e, every=True)] for e in THREE}
    )


def rounds_trials(at: Experiment, sizes: tuple[int, ...] | None) -> list[Trial]:
    """Return the trials of such panels."""
    return [at.trial(noise, sizes, e, every=True) for noise in VARIANTS for e in THREE]


def equal(owners: int, records: int) -> tuple[int, ...]:
    """Return the sizes of so many owners of so many records."""
    return (records,) * owners


def surface_trials(at: Experiment, sizes: Sequence[int], owners: int = 3) -> list[Trial]:
    """Return trials over sizes and budgets."""
    return [
        at.trial(noise, equal(owners, n), e) for noise in VARIANTS for n in sizes for e in BUDGETS
    ]


def surface_panel(
    at: Experiment, seen: Seen, noise: Noise, sizes: Sequence[int], owners: int = 3
) -> Grid:
    """Return ψ over sizes and budgets."""
    cells = tuple(tuple(seen[at.trial(noise, equal(owners, n), e)] for e in BUDGETS) for n in sizes)
    return Grid(NAMES[noise], "ε_i", BUDGETS, "n_i", tuple(map(float, sizes)), cells)


def budget_panel(
    at: Experiment, seen: Seen, noise: Noise, sizes: Sequence[tuple[int, ...] | None]
) -> Lines:
    """Return ψ against the budget, a line for each size."""
    curves = {
        "all hospitals" if n is None else f"{n[0]:,} records each": tuple(
            seen[at.trial(noise, n, e)] for e in BUDGETS
        )
        for n in sizes
    }
    return Lines(NAMES[noise], "ε_i", BUDGETS, curves)


def size_panel(at: Experiment, seen: Seen, noise: Noise, sizes: Sequence[int]) -> Lines:
    """Return ψ against the number of records, a line for each of three budgets."""
    curves = {
        f"ε = {e:g} each": tuple(seen[at.trial(noise, equal(3, n), e)] for n in sizes)
        for e in THREE
    }
    return Lines(NAMES[noise], "n_i", tuple(map(float, sizes)), curves)


def slope_claim(
    key: str,
    figure: str,
    statement: str,
    panel: Lines,
    corrected: Lines,
    noiseless: Sequence[float],
    others: Sequence[float],
    tried: str,
    wanted: float = -2.0,
) -> Claim:
    """Judge whether every line of a panel falls with a slope.

    Args:
        key: of the claim.
        figure: of the figure.
        statement: the paper's.
        panel: the lines, as published.
        corrected: the same with corrected noise.
        noiseless: ψ without any noise, for every line: what the optimisation leaves.
        others: slopes of one line under every other choice.
        tried: which choices, and which line, in words.
        wanted: the slope.
    """
    psi = {name: [one.mean for one in line] for name, line in panel.curves.items()}
    slopes = {name: slope(panel.x, line) for name, line in psi.items()}
    noise = {
        name: slope(panel.x, [max(v - floor, 1e-15) for v in line])
        for (name, line), floor in zip(psi.items(), noiseless, strict=True)
    }
    elsewhere = [near(value, wanted, 0.1) for value in others]
    worst = max(slopes, key=lambda name: abs(slopes[name] - wanted))
    told = "; ".join(
        f"{name}: {slopes[name]:.2f}, of what noise adds {noise[name]:.2f}" for name in slopes
    )
    return Claim(
        key,
        figure,
        statement,
        judge([near(value, wanted, 0.1) for value in slopes.values()], elsewhere),
        slopes[worst],
        f"slope of log ψ against log {panel.along} farthest from {wanted:g}, at {worst}; within 0.1 of "
        "it is asked for on every line",
        f"Slopes: {told}. {counted(elsewhere, tried)}".strip(),
        judge(
            [
                near(slope(corrected.x, [one.mean for one in line]), wanted, 0.1)
                for line in corrected.curves.values()
            ]
        ),
    )


def slopes(along: Sequence[float], tried: Sequence[Sequence[Trial]], seen: Seen) -> list[float]:
    """Return the slope under every choice but the first, the drawn one; trials by x, then by choice."""
    return [
        slope(along, [seen[trials[i]].mean for trials in tried]) for i in range(1, len(tried[0]))
    ]


def means(cells: Sequence[Sequence[Outcome]]) -> FloatArray:
    """Return the mean ψ of every cell."""
    return np.array([[cell.mean for cell in row] for row in cells])
