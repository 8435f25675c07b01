"""An owner's own question as a picture: every model's error, with its interval, in the owner's unit."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from treaty.canvas import BLUE, GREY, ORANGE, canvas, headline, mark_private
from treaty.gains.competing import ADAPTED, ALONE, PUBLIC, adapted
from treaty.gains.own_gain import OwnGain, sentence
from treaty.gains.table import NAMES, title
from treaty.measures import MEASURES

MOST_OWNERS = 40
"""Of more owners, those are drawn that gain most and least."""

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKS = {
    ALONE: ("alone", "v", GREY),
    adapted(PUBLIC): ("the public model, adapted", "o", ORANGE),
    ADAPTED: ("together, adapted", "D", BLUE),
}


def draw(gain: OwnGain, path: Path) -> None:
    """Draw the main error of every model, best without joining and joining marked."""
    measure = MEASURES[gain.measure]
    there = [
        key for key in NAMES if key in gain.models and gain.measure in gain.models[key].measures
    ]
    figure = canvas(9.0, 1.6 + 0.55 * len(there))
    axes = figure.subplots()
    for place, key in enumerate(reversed(there)):
        error = gain.models[key].measures[gain.measure]
        colour = BLUE if key == ADAPTED else ORANGE if key == gain.rival else GREY
        axes.errorbar(
            [error.value],
            [place],
            xerr=[[error.value - error.low], [error.high - error.value]],
            fmt="o",
            color=colour,
            capsize=4,
            markersize=8,
        )
    axes.set_yticks(range(len(there)), [NAMES[key] for key in reversed(there)])
    axes.axvline(gain.models[gain.rival].measures[gain.measure].value, color=ORANGE, lw=0.8, ls=":")
    unit = f" in {gain.target.unit}" if measure.in_unit and gain.target.unit else ""
    better = "higher" if measure.rises else "lower"
    axes.set_xlabel(f"{measure.words}{unit}, {better} is better; 90% intervals")
    axes.set_ylim(-0.6, len(there) - 0.4)
    headline(axes, title(gain))
    figure.text(0.01, -0.02, sentence(gain), fontsize=9, wrap=True, va="top")
    mark_private(figure)
    figure.savefig(path, dpi=150, bbox_inches="tight")


def owners_panel(axes: "Axes", gains: Mapping[str, OwnGain]) -> None:
    """Draw the errors of several owners by name: alone, with the public model, together."""
    ordered = sorted(gains.values(), key=lambda gain: gain.gain.value)
    shown = ordered
    if len(ordered) > MOST_OWNERS:
        shown = ordered[: MOST_OWNERS // 2] + ordered[-MOST_OWNERS // 2 :]
    first = shown[0]
    for key, (words, mark, colour) in MARKS.items():
        there = [
            (gain.models[key].measures[gain.measure], place)
            for place, gain in enumerate(shown)
            if key in gain.models
        ]
        if not there:
            continue
        if key == ADAPTED:
            for error, place in there:
                axes.plot([error.low, error.high], [place, place], color=colour, alpha=0.3, lw=4)
            words += ", 90% interval"
        full = colour if key == ADAPTED else "none"
        axes.scatter(
            [error.value for error, _ in there],
            [place for _, place in there],
            marker=mark,
            s=20 if key == ADAPTED else 42,
            facecolors=full,
            edgecolors=colour,
            label=words,
            zorder=3,
        )
    axes.set_yticks(range(len(shown)), [gain.name for gain in shown], fontsize=8)
    axes.set_ylim(-0.7, len(shown) - 0.3)
    measure = MEASURES[first.measure]
    unit = f", {first.target.unit}" if measure.in_unit and first.target.unit else ""
    better = "higher" if measure.rises else "lower"
    axes.set_xlabel(f"{measure.words}{unit}; {better} is better")
    some = "" if shown is ordered else f": the {MOST_OWNERS} with the largest and smallest gains"
    headline(axes, f"On every owner's own next records{some}")
    axes.grid(axis="y", alpha=0.2)
    axes.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3)


def panel_height(gains: Mapping[str, OwnGain]) -> float:
    """Return how many inches that needs."""
    return max(4.5, 1.6 + 0.21 * min(len(gains), MOST_OWNERS))
