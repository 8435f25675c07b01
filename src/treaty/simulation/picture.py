"""ψ by round, as both papers draw it."""

from pathlib import Path

from treaty.canvas import canvas
from treaty.simulation.simulation import Simulation


def draw_rounds(result: Simulation, path: Path) -> None:
    """Draw median and quartiles of ψ against the round, and write the picture."""
    p25, median, p75 = result.percentiles(25, 50, 75)
    figure = canvas(7, 4)
    axes = figure.subplots()
    axes.fill_between(result.rounds, p25, p75, color="0.8", label="25% to 75% of runs")
    axes.plot(result.rounds, median, color="black", label="median")
    axes.set(xlabel="round k", ylabel="relative fitness ψ", yscale="log")
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)
