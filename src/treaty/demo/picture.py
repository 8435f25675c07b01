"""The demonstration as one picture."""

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from treaty.demo.story import Story
from treaty.gains import OwnGain
from treaty.measures import Errors

ROOM = 3.5
"""Below the last airport, for the legend."""


def draw(story: Story, path: Path) -> None:
    """Draw the owners' view on the left, what budgets do to one model for all on the right."""
    figure = Figure(figsize=(12, 6.4), layout="constrained")
    errors, gains, budgets = figure.subplots(1, 3, width_ratios=(3, 3, 2.4))
    names = list(story.measured)[::-1]
    _draw_errors(errors, story, names)
    _draw_gains(gains, story, names)
    _draw_budgets(budgets, story)
    figure.savefig(path, dpi=150)


def _draw_errors(axes: Axes, story: Story, names: list[str]) -> None:
    places = range(len(names))
    measured = [story.measured[name] for name in names]
    public = [_over_alone(gain, gain.public_adapted) for gain in measured]
    axes.scatter(public, places, marker="o", s=42, facecolors="none", edgecolors="C1")
    axes.scatter([_over_alone(g, g.adapted) for g in measured], places, marker=".", color="C2")
    axes.scatter(
        [], [], marker="o", s=42, facecolors="none", edgecolors="C1", label="public, adapted"
    )
    axes.scatter([], [], marker=".", color="C2", label="together, adapted")
    axes.axvline(0, color="0.6", linewidth=1)
    axes.set_yticks(list(places), names, fontsize=8)
    axes.set(xlabel="error over that of the airport's own model, %")
    axes.set_title("On an airport's own next flights", loc="left", fontsize=11)
    axes.set_ylim(-ROOM, len(names))
    axes.legend(frameon=False, fontsize=9, loc="lower left")


def _over_alone(gain: OwnGain, errors: Errors | None) -> float:
    return math.nan if errors is None else 100 * (errors.rmse.value / gain.alone.rmse.value - 1)


def _draw_gains(axes: Axes, story: Story, names: list[str]) -> None:
    for place, name in enumerate(names):
        told = story.told[name].gain
        axes.plot([100 * told.low, 100 * told.high], [place, place], color="0.75", linewidth=4)
    axes.plot([], [], color="0.75", linewidth=4, label="forecast, 90%")
    measured = [100 * story.measured[name].gain.value for name in names]
    axes.scatter(measured, range(len(names)), marker=".", color="C2", label="measured", zorder=3)
    axes.axvline(0, color="0.6", linewidth=1)
    axes.set_yticks([])
    axes.set(xlabel="gain by joining over the best without, %")
    axes.set_title("What joining brings", loc="left", fontsize=11)
    axes.set_ylim(-ROOM, len(names))
    axes.legend(frameon=False, fontsize=9, loc="lower right")


def _draw_budgets(axes: Axes, story: Story) -> None:
    report, expected = story.training, story.forecast.together
    epsilons = sorted(story.by_epsilon)
    simulated = [story.by_epsilon[epsilon] for epsilon in epsilons]
    axes.plot(epsilons, simulated, "o-", color="C0", label="100 runs, mean")
    around = [[expected.value - expected.low], [expected.high - expected.value]]
    axes.errorbar([1.0], [expected.value], around, fmt="D", color="black", label="forecast")
    axes.plot([1.0], [report.together], "*", color="C2", markersize=15, label="the real training")
    if report.public_only is not None:
        axes.axhline(report.public_only, color="C1", linestyle="--", label="public rows only")
    axes.set(xscale="log", yscale="log", xlabel="ε of every airport", ylabel="ψ, lower is better")
    axes.set_title("One model for all, as the papers see it", loc="left", fontsize=11)
    axes.legend(frameon=False, fontsize=9)
