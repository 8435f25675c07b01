"""Errors by round over all simulated runs, beside what there is without training."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from treaty.canvas import BLUE, ErrorAxis, canvas, headline, levels, mark_private
from treaty.records import Target
from treaty.simulation.simulation import Simulation

FEW = 60
"""So many rounds are drawn one by one; more of them as steps."""


def draw_rounds(
    result: Simulation, target: Target, path: Path, rivals: Mapping[str, float] | None = None
) -> None:
    """Draw the error after every round, median and middle half of the runs, and write the picture.

    Args:
        result: the runs.
        target: what is predicted.
        path: where the picture goes.
        rivals: ψ of what there is without training, by name.
    """
    stick = result.yardstick
    axis = ErrorAxis(stick.best.value, target, stick.problem.fitness_loss.name)
    low, median, high = (axis.of_all(psi) for psi in result.percentiles(25, 50, 75))
    figure = canvas(8, 5)
    axes = figure.subplots()
    words = f"together: median and middle half of {len(result.final):,} runs"
    rounds = result.rounds
    if len(rounds) <= FEW:
        axes.errorbar(
            rounds, median, [median - low, high - median],
            fmt="D", color=BLUE, capsize=4, markersize=6, label=words,
        )  # fmt: skip
        axes.set_xticks(rounds[:: 1 + len(rounds) // 15])
        axes.set_xlim(float(rounds.min()) - 0.7, float(rounds.max()) + 0.7)
    else:
        axes.fill_between(rounds, low, high, step="post", color=BLUE, alpha=0.25, linewidth=0)
        axes.step(rounds, median, where="post", color=BLUE, label=words)
    best = axis.of(0.0)
    known = {name: axis.of(psi) for name, psi in (rivals or {}).items()}
    known["all records in one place, no privacy"] = best
    reasonable = best + 3 * (float(np.max(high)) - best)
    levels(axes, known, reasonable)
    axes.set(xlabel="after round", ylabel=axis.label)
    headline(axes, "One model for everybody's records, with simulated noise")
    axes.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)
    axes.grid(alpha=0.3)
    mark_private(figure)
    figure.savefig(path, dpi=150)
