"""Advice as a picture: what each owner adds, when a coalition pays, what money buys, four scenarios."""

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treaty.advice.advice import Advice
from treaty.advice.targets import priced_budgets
from treaty.advice.worth import Worth, worth_of
from treaty.arrays import FloatArray
from treaty.canvas import BLUE, GREY, ORANGE, ErrorAxis, by_factors, canvas, headline, mark_private
from treaty.errors import TreatyError
from treaty.forecasting import Outlook
from treaty.records import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_OWNERS = 40
"""Of more owners, those are drawn that add most and least."""
SCENARIOS = ((0.1, 0.1), (0.1, 10.0), (10.0, 0.1), (10.0, 10.0))
"""How many records, and which ε, the other owners have: times those of the treaty."""


def draw(outlook: Outlook, advice: Advice, target: Target, path: Path) -> None:
    """Draw what each owner adds, when a coalition pays, what budgets buy, and an owner among others.

    Args:
        outlook: the treaty in the light of evidence.
        advice: about it.
        target: what is predicted.
        path: where the picture goes.
    """
    worth = worth_of(outlook)
    epsilons = np.array([party.budget.epsilon for party in outlook.plan.parties])
    if np.isinf(epsilons).any():
        raise TreatyError("a picture of advice needs a finite epsilon for every owner")
    axis = ErrorAxis(outlook.fitness, target, outlook.plan.problem.fitness_loss.name)
    owners = min(len(worth.names), MOST_OWNERS)
    figure = canvas(15, max(9.0, 1.6 + 0.21 * owners))
    grid = figure.add_gridspec(2, 4)
    _added(figure.add_subplot(grid[:, 0]), advice, axis)
    _break_even(figure.add_subplot(grid[0, 1]), worth, epsilons)
    _prices(figure.add_subplot(grid[1, 1]), worth, epsilons, axis)
    for place, (sizes, budgets) in zip(
        [grid[0, 2], grid[0, 3], grid[1, 2], grid[1, 3]], SCENARIOS, strict=True
    ):
        _scenario(figure.add_subplot(place), worth, epsilons, axis, sizes, budgets)
    if advice.evidence == "private":
        mark_private(figure)
    figure.savefig(path, dpi=150)


def _added(axes: "Axes", advice: Advice, axis: ErrorAxis) -> None:
    """By how much the shared model's error would rise without each owner, by name."""
    together = axis.of(advice.recommended.value)
    ordered = sorted(advice.owners, key=lambda owner: owner.adds)
    shown = ordered
    if len(ordered) > MOST_OWNERS:
        shown = ordered[: MOST_OWNERS // 2] + ordered[-MOST_OWNERS // 2 :]
    rises = [axis.of(advice.recommended.value + owner.adds) - together for owner in shown]
    colours = [BLUE if owner.invited else ORANGE for owner in shown]
    axes.barh(range(len(shown)), rises, color=colours, height=0.7)
    axes.set_yticks(range(len(shown)), [owner.name for owner in shown], fontsize=8)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_ylim(-0.7, len(shown) - 0.3)
    axes.set_xlabel(f"rise of the shared model's\n{axis.short}, without this owner")
    colour = "blue: invite, orange: do not" if any(not o.invited for o in shown) else ""
    headline(axes, f"What each owner adds\n{colour}".rstrip())


def _break_even(axes: "Axes", worth: Worth, epsilons: FloatArray) -> None:
    """Draw for how many owners like the average one, at which ε, together beats alone (F Fig. 6)."""
    size = float(np.mean(worth.records))
    unit = float(np.mean(worth.noise * epsilons**2))
    count = np.unique(np.round(np.logspace(0, 2.5, 60)))
    epsilon = np.logspace(-2, 2, 60)
    together = worth.at_cost(unit / (epsilon[None, :] ** 2 * count[:, None] * size**2))
    alone = worth.sampling / size * (1 - 1 / count[:, None])
    axes.contourf(epsilon, count, together < alone, levels=[-0.5, 0.5, 1.5], colors=["0.9", BLUE])
    axes.plot([float(np.mean(epsilons))], [len(worth.names)], "*", color=ORANGE, markersize=15)
    by_factors(axes, y=True)
    axes.set(
        xlabel="privacy budget ε of every owner",
        ylabel=f"number of owners, {size:,.0f} records each",
    )
    headline(axes, "Blue: one model together beats each\nalone; grey: it does not (★ the treaty)")


def _prices(axes: "Axes", worth: Worth, epsilons: FloatArray, axis: ErrorAxis) -> None:
    """Draw what money buys when every unit of ε costs the same."""
    prices = dict.fromkeys(worth.names, 1.0)
    spend = np.logspace(-1, 1, 30) * float(epsilons.sum())
    psi: list[float] = []
    for money in spend:
        budgets = priced_budgets(worth, epsilons, prices, float(money))
        granted = np.array([budgets[name] for name in worth.names])
        noise = worth.noise * (epsilons / granted) ** 2
        psi.append(float(replace(worth, noise=noise).psi(np.ones((1, len(granted))))[0]))
    axes.plot(spend, axis.of_all(np.array(psi)), color=BLUE, label="together, ε shared out at best")
    axes.axhline(axis.of(worth.nothing), color=ORANGE, linestyle="--", label="without a coalition")
    axes.axhline(
        axis.of(0.0), color=GREY, linestyle=":", label="all records in one place, no privacy"
    )
    by_factors(axes)
    axes.set(xlabel="sum of all owners' ε, at one price")
    axes.set_ylabel(axis.short)
    headline(axes, "What more budget buys")
    axes.legend(fontsize=8, framealpha=0.9, edgecolor="none")
    axes.grid(alpha=0.3)


def _scenario(
    axes: "Axes",
    worth: Worth,
    epsilons: FloatArray,
    axis: ErrorAxis,
    sizes: float,
    budgets: float,
) -> None:
    """Draw the error against one owner's records and ε, for others that have few or many (W Fig. 6)."""
    unit = float(np.mean(worth.noise * epsilons**2))
    size, epsilon = float(np.mean(worth.records)), float(np.mean(epsilons))
    n1, e1 = np.logspace(-1, 1, 25) * size, np.logspace(-1, 1, 25) * epsilon
    others = max(1, len(worth.names) - 1)
    total = n1[:, None] + others * sizes * size
    noise = unit / e1[None, :] ** 2 + others * unit / (budgets * epsilon) ** 2
    errors = axis.of_all(worth.at_cost(noise / total**2))
    low, high = float(errors.min()), float(errors.max())
    # A scale of its own each: what matters is along which axis the error moves, and by how much.
    drawn = axes.contourf(
        e1, n1, errors, np.linspace(low - 1e-6 * low, high + 1e-6 * high, 21), cmap="viridis_r"
    )
    bar = axes.figure.colorbar(drawn, ax=axes, ticks=np.linspace(low, high, 5))
    digits = 1 + max(0, math.ceil(-math.log10(max(high - low, 1e-9))))
    bar.ax.yaxis.set_major_formatter(lambda value, place: f"{value:,.{digits}f}")
    bar.set_label(axis.short)
    by_factors(axes, y=True)
    axes.set(xlabel=f"ε of {worth.names[0]}", ylabel=f"records of {worth.names[0]}")
    headline(
        axes,
        f"If the {others} others had {sizes * size:,.0f}\nrecords and ε = {budgets * epsilon:g} each",
    )
