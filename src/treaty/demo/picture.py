"""The demonstration as one picture."""

import math
from pathlib import Path

from matplotlib.axes import Axes

from treaty.canvas import BLUE, GREEN, ORANGE, ErrorAxis, by_factors, canvas, headline, levels
from treaty.demo.story import Story
from treaty.gains import OwnGain
from treaty.measures import Errors

ROOM = 3.5
"""Below the last airport, for the legend."""


def draw(story: Story, path: Path) -> None:
    """Draw the owners' view on the left, what budgets do to one model for all on the right."""
    figure = canvas(13, 6.4)
    errors, gains, budgets = figure.subplots(1, 3, width_ratios=(3, 3, 3))
    names = list(story.measured)[::-1]
    _draw_errors(errors, story, names)
    _draw_gains(gains, story, names)
    _draw_budgets(budgets, story)
    figure.savefig(path, dpi=150)


def _draw_errors(axes: Axes, story: Story, names: list[str]) -> None:
    places = range(len(names))
    measured = [story.measured[name] for name in names]
    public = [_over_alone(gain, gain.public_adapted) for gain in measured]
    axes.scatter(public, places, marker="o", s=42, facecolors="none", edgecolors=ORANGE)
    axes.scatter([_over_alone(g, g.adapted) for g in measured], places, marker=".", color=BLUE)
    axes.scatter(
        [], [], marker="o", s=42, facecolors="none", edgecolors=ORANGE, label="public, adapted"
    )
    axes.scatter([], [], marker=".", color=BLUE, label="together, adapted")
    axes.axvline(0, color="0.6", linewidth=1)
    axes.set_yticks(list(places), names, fontsize=8)
    axes.set(xlabel="error over that of the airport's own model, %")
    headline(axes, "On an airport's own next flights")
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
    axes.scatter(measured, range(len(names)), marker=".", color=BLUE, label="measured", zorder=3)
    axes.axvline(0, color="0.6", linewidth=1)
    axes.set_yticks([])
    axes.set(xlabel="gain by joining over the best without, %")
    headline(axes, "What joining brings")
    axes.set_ylim(-ROOM, len(names))
    axes.legend(frameon=False, fontsize=9, loc="lower right")


def _draw_budgets(axes: Axes, story: Story) -> None:
    report, expected = story.training, story.forecast.together
    axis = ErrorAxis(report.best, report.model.target, report.model.loss)
    epsilons = sorted(story.by_epsilon)
    simulated = [axis.of(story.by_epsilon[epsilon]) for epsilon in epsilons]
    axes.plot(epsilons, simulated, "o-", color=BLUE, label="together, mean of 100 simulated runs")
    told, low, high = (axis.of(psi) for psi in (expected.value, expected.low, expected.high))
    axes.errorbar(
        [1.0], [told], [[told - low], [high - told]],
        fmt="D", color="black", capsize=4, label="together, forecast, 90%",
    )  # fmt: skip
    axes.plot(
        [1.0], [axis.of(report.together)],
        "*", color=GREEN, markersize=15, label="together, the real training",
    )  # fmt: skip
    known = {"a constant guess": axis.of(report.nothing)}
    if report.public_only is not None:
        known = {"the public flights only": axis.of(report.public_only), **known}
    alone = sorted(report.alone.values())[len(report.alone) // 2]
    known["one airport's own model, median"] = axis.of(alone)
    known["all flights in one place, no privacy"] = axis.of(0.0)
    levels(axes, known, 1.2 * max(*simulated, high))
    by_factors(axes)
    axes.set(xlabel="privacy budget ε of every airport: more is less private", ylabel=axis.label)
    headline(axes, "One model for everybody's flights")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.6 * (high - low))  # room for the legend
    axes.legend(frameon=False, fontsize=8, loc="upper right")
