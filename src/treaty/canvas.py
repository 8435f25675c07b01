"""What every picture is drawn on: a sheet, colours that everybody can tell apart, errors as an axis."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.records import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, SKY, GREY = "#0072B2", "#D55E00", "#009E73", "#56B4E9", "#999999"
"""Okabe and Ito's colours. Blue is together, orange the best without, grey the rest."""


def canvas(width: float, height: float) -> "Figure":
    """Return an empty picture of so many inches, or say what it takes to draw."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise TreatyError("pictures need Matplotlib: pip install 'treaty[demo]'") from error
    return Figure(figsize=(width, height), layout="constrained")


def mark_private(figure: "Figure") -> None:
    """Say in a picture that it was computed from private records without noise."""
    words = "Computed from private records without noise: this picture must not leave."
    figure.supxlabel(words, fontsize=9, color=ORANGE, x=0.01, ha="left")


def headline(axes: "Axes", words: str) -> None:
    """Put a title over the left edge, and leave out the frame where nothing is read off it."""
    axes.set_title(words, loc="left", fontsize=11)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def by_factors(axes: "Axes", *, x: bool = True, y: bool = False) -> None:
    """Let equal steps be equal factors, with numbers as people write them: 0.1, 1, 1,000."""
    for axis, wanted in ((axes.xaxis, x), (axes.yaxis, y)):
        if wanted:
            (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
            axis.set_major_formatter(lambda value, place: f"{value:,g}")


@dataclass(frozen=True)
class ErrorAxis:
    """ψ as an error that a reader knows: in the target's own unit for numbers, else the mean loss.

    A model with ψ has a mean loss of f*(1 + ψ). Where the loss is squared, the root of that is the
    typical error; the treaty's ridge, if it is not small, counts with it.

    Args:
        best: f*, the least mean loss over all records.
        target: what is predicted.
        loss: the name of the loss.
    """

    best: float
    target: Target
    loss: str

    @property
    def label(self) -> str:
        """What the axis shows, and in which unit."""
        what = self.target.label or self.target.column
        if self.loss != "squared":
            return f"mean {self.loss} loss of {what}, lower is better"
        unit = f", {self.target.unit}" if self.target.unit else ""
        return f"typical error of {what}{unit} (root mean square)"

    @property
    def short(self) -> str:
        """The same where there is little room."""
        if self.loss != "squared":
            return f"mean {self.loss} loss"
        return f"error, {self.target.unit}" if self.target.unit else "error"

    def of(self, psi: float) -> float:
        """Return the error of a model with this ψ."""
        loss = self.best * (1.0 + psi)
        return loss if self.loss != "squared" else self.target.scaling[1] * math.sqrt(loss)

    def of_all(self, psi: FloatArray) -> FloatArray:
        """Return the errors of models with these ψ."""
        return np.vectorize(self.of, otypes=[float])(psi)


def levels(axes: "Axes", known: dict[str, float], highest: float) -> None:
    """Draw what there is to compare with as horizontal lines, each with its name.

    Args:
        axes: where.
        known: errors by the name of the model.
        highest: what lies above this is told in the name instead, so that the rest can be read.
    """
    styles = ((ORANGE, "--"), (GREY, ":"), (GREEN, "-."), ("black", (0, (1, 3))))
    for (name, value), (colour, style) in zip(known.items(), styles, strict=False):
        if value <= highest:
            axes.axhline(value, color=colour, linestyle=style, linewidth=1.5, label=name)
        else:
            axes.plot([], [], " ", label=f"{name}: {value:.3g}, above the picture")
