"""Figures as pictures: as published to the left, corrected to the right."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treaty.arrays import FloatArray
from treaty.canvas import BLUE, GREEN, GREY, ORANGE, SKY, canvas
from treaty.papers.figure import Figure, Grid, Lines, Owners, Panel, Rounds, Timing
from treaty.papers.trial import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (ORANGE, BLUE, GREEN, SKY, GREY)
MARKERS = ("s", "D", "o", "^", "v")
SMALLEST = 1e-9
"""ψ below this is drawn as this: on logarithmic axes there is no 0."""
WORDS = {
    "ε_i": "ε of every owner",
    "n_i": "records of every owner",
    "ε₁": "ε of the first owner",
    "n₁": "records of the first owner",
    "N": "owners",
}
"""What the papers' letters on the axes stand for."""
PSI = "ψ = 0.1 is a loss 10% above the least that any model reaches on all records"
CELLS = "; in every cell: ψ, and its forecast in brackets"
OWN = "\nown: ψ of the first owner's own model; framed: below that"


def draw(figure: Figure, folder: Path) -> list[Path]:
    """Write a figure as PNG and SVG, and return where."""
    rows = len(figure.published)
    high = 2.6 if rows > 2 else 3.5
    picture = canvas(9.0, high * rows + 0.5)
    panels = [
        panel for pair in zip(figure.published, figure.corrected, strict=True) for panel in pair
    ]
    every = picture.subplots(rows, 2, squeeze=False).ravel()
    for axes, panel in zip(every, panels, strict=True):
        _panel(axes, panel, _limits(panels))
    picture.suptitle(
        f"{figure.key}. {figure.title}\n{textwrap.fill(f'({figure.rows})', 120)}", fontsize=10
    )
    if not all(isinstance(panel, Timing) for panel in panels):
        grids = [panel for panel in panels if isinstance(panel, Grid)]
        own = any(panel.alone is not None for panel in grids)
        picture.supxlabel(PSI + CELLS * bool(grids) + OWN * own, fontsize=8)
    paths = [folder / f"{figure.key}.png", folder / f"{figure.key}.svg"]
    for path in paths:
        picture.savefig(path, dpi=110)
    return paths


def _limits(panels: Sequence[Panel]) -> tuple[float, float]:
    """Return the least and the largest ψ of all tables, which share their colours."""
    values = [
        value
        for panel in panels
        if isinstance(panel, Grid)
        for row in panel.cells
        for cell in row
        for value in (cell.mean,)
    ]
    return (max(min(values), SMALLEST), max(values)) if values else (SMALLEST, 1.0)


def _panel(axes: "Axes", panel: Panel, limits: tuple[float, float]) -> None:
    axes.set_title(panel.title, loc="left", fontsize=9)
    axes.tick_params(labelsize=8)
    if isinstance(panel, Rounds):
        _rounds(axes, panel)
    elif isinstance(panel, Lines):
        _lines(axes, panel)
    elif isinstance(panel, Grid):
        _grid(axes, panel, limits)
    elif isinstance(panel, Timing):
        _timing(axes, panel)
    else:
        _owners(axes, panel)


def _rounds(axes: "Axes", panel: Rounds) -> None:
    for colour, (name, outcome) in zip(COLOURS, panel.curves.items(), strict=False):
        k = np.array(outcome.rounds)
        axes.fill_between(
            k,
            _seen(outcome.p25),
            _seen(outcome.p75),
            color=colour,
            alpha=0.25,
            linewidth=0,
            step="post",
        )
        median = _seen(outcome.median)
        axes.plot(k, median, color=colour, linewidth=1.2, label=name, drawstyle="steps-post")
        if outcome.forecast is not None:
            _forecast(axes, [float(k[-1])], [outcome], colour)
    axes.plot([], [], "k*", markersize=8, markerfacecolor="none", label="forecast of the mean")
    axes.set(xlabel="round", ylabel="ψ: median and quartiles", yscale="log")
    _finish(axes)


def _lines(axes: "Axes", panel: Lines) -> None:
    x = np.array(panel.x)
    for colour, marker, (name, line) in zip(COLOURS, MARKERS, panel.curves.items(), strict=False):
        psi = _seen([one.mean for one in line])
        axes.errorbar(
            x,
            psi,
            yerr=np.minimum([2 * one.error for one in line], 0.9 * psi),
            fmt=marker,
            color=colour,
            markersize=5,
            linewidth=1,
            label=name,
        )
        # The papers fit the constant of a line of slope −2 after the fact; so here.
        constant = np.exp(np.mean(np.log(psi) + 2 * np.log(x)))
        axes.plot(x, constant / x**2, color=colour, linewidth=0.8)
        _forecast(axes, list(panel.x), line, colour)
    axes.plot([], [], "k-", linewidth=0.8, label="fitted, slope −2")
    axes.plot([], [], "k*", markersize=8, markerfacecolor="none", label="forecast")
    axes.set(xlabel=WORDS[panel.along], ylabel="mean ψ", xscale="log", yscale="log")
    _finish(axes)


def _forecast(axes: "Axes", x: Sequence[float], line: Sequence[Outcome], colour: str) -> None:
    """Draw forecasts as stars with their 90% intervals."""
    told = [(at, one.forecast) for at, one in zip(x, line, strict=True) if one.forecast is not None]
    if not told:
        return
    value = _seen([forecast[0] for _, forecast in told])
    low = _seen([forecast[1] for _, forecast in told])
    high = _seen([forecast[2] for _, forecast in told])
    axes.errorbar(
        [at for at, _ in told],
        value,
        yerr=np.maximum([value - low, high - value], 0.0),
        fmt="*",
        color=colour,
        markersize=9,
        markerfacecolor="none",
        linewidth=0.8,
        capsize=2,
    )


def _grid(axes: "Axes", panel: Grid, limits: tuple[float, float]) -> None:
    from matplotlib.colors import LogNorm
    from matplotlib.patches import Rectangle

    psi = np.array([[max(cell.mean, SMALLEST) for cell in row] for row in panel.cells])
    norm = LogNorm(*limits)
    axes.imshow(psi, cmap="viridis_r", norm=norm, origin="lower", aspect="auto")
    small = psi.shape[1] > 3
    for i, row in enumerate(panel.cells):
        for j, cell in enumerate(row):
            ink = "white" if psi[i, j] ** 2 > limits[0] * limits[1] else "black"
            told = _short(cell.mean)
            if cell.forecast is not None:
                told += f"\n({_short(cell.forecast[0])})"
            axes.text(j, i, told, ha="center", va="center", fontsize=6 if small else 7, color=ink)
            if panel.alone is not None and cell.mean < panel.alone[i]:
                corner = (j - 0.47, i - 0.47)
                axes.add_patch(
                    Rectangle(corner, 0.94, 0.94, fill=False, edgecolor="red", linewidth=2)
                )
    axes.set_xticks(range(len(panel.x)), [f"{v:g}" for v in panel.x])
    labels = [f"{v:,.0f}" for v in panel.y]
    if panel.alone is not None:
        labels = [f"{n}\n(own {own:.1g})" for n, own in zip(labels, panel.alone, strict=True)]
    axes.set_yticks(range(len(panel.y)), labels)
    axes.set(xlabel=WORDS[panel.along], ylabel=WORDS[panel.up])


def _short(psi: float) -> str:
    """Return ψ with two digits, and no exponent where it is large."""
    return f"{float(f'{psi:.2g}'):,.0f}" if psi >= 99.5 else f"{psi:.2g}"


def _timing(axes: "Axes", panel: Timing) -> None:
    k = np.arange(1, len(panel.talks) + 1)
    few = panel.owners < 10
    axes.plot(
        k,
        np.array(panel.talks) + 1,
        marker="|" if few else ".",
        markersize=9 if few else 1,
        alpha=0.35 if few else 1.0,
        linestyle="",
        color="black",
    )
    counts = np.bincount(panel.talks, minlength=panel.owners)
    beside: Any = axes.inset_axes((1.05, 0.0, 0.28, 1.0), sharey=axes)
    beside.barh(np.arange(1, panel.owners + 1), counts, color="0.7")
    beside.axvline(
        len(panel.talks) / panel.owners, color=COLOURS[0], linewidth=1, label="an equal share"
    )
    beside.tick_params(labelleft=False, labelsize=7)
    beside.set_xlabel("answers", fontsize=8)
    beside.legend(fontsize=6, frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.12))
    axes.set(xlabel="round", ylabel="owner who answers", ylim=(0.3, panel.owners + 0.7))
    axes.set_xticks(np.linspace(0, 0.8 * len(k), 5))
    if few:
        axes.set_yticks(range(1, panel.owners + 1))


def _owners(axes: "Axes", panel: Owners) -> None:
    alone = _seen(panel.alone)
    axes.plot(panel.records, alone, "o", color="0.4", markersize=4, label="a hospital's own model")
    for style, colour, (name, outcome) in zip(
        ("-", "--", "-."), COLOURS, panel.together.items(), strict=False
    ):
        gain = int(np.sum(np.asarray(panel.alone) > outcome.mean))
        axes.axhline(
            max(outcome.mean, SMALLEST),
            linestyle=style,
            color=colour,
            linewidth=1.2,
            label=f"together, {name}: {gain} gain",
        )
        if outcome.forecast is not None:
            _forecast(axes, [1.03 * max(panel.records)], [outcome], colour)
    axes.plot([], [], "k*", markersize=8, markerfacecolor="none", label="forecast")
    axes.set(xlabel="records of a hospital", ylabel="ψ", xscale="log", yscale="log")
    ticks = [n for n in (10_000, 20_000, 40_000, 80_000) if n <= 1.2 * max(panel.records)]
    axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
    axes.set_xticks([], minor=True)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=7, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False)


def _finish(axes: "Axes") -> None:
    axes.grid(alpha=0.25)
    axes.legend(fontsize=7, frameon=True, framealpha=0.85, edgecolor="none")


def _seen(values: Sequence[float]) -> FloatArray:
    return np.maximum(np.asarray(values, dtype=float), SMALLEST)
