"""An owner's own question as a picture: every model's error, with its interval, in the owner's unit."""

from pathlib import Path

from treaty.canvas import canvas
from treaty.gains.competing import ADAPTED
from treaty.gains.own_gain import OwnGain, sentence
from treaty.gains.table import NAMES, title
from treaty.measures import MEASURES

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#999999"
"""Okabe and Ito's colours, which everybody can tell apart."""


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
    axes.set_title(title(gain), loc="left", fontsize=11)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.text(0.01, -0.02, sentence(gain), fontsize=9, wrap=True, va="top")
    figure.savefig(path, dpi=150, bbox_inches="tight")
