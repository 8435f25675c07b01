"""ψ against ε and n: a surface, and log-log lines with their slopes."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from treaty.arrays import FloatArray
from treaty.canvas import canvas
from treaty.forecasting.forecasts import Forecast
from treaty.forecasting.outlook import Outlook
from treaty.plans import Plan
from treaty.privacy import Budget

FACTORS = np.logspace(-1, 1, 5)


def draw(outlook: Outlook, forecast: Forecast, path: Path) -> None:
    """Rehearse budgets and sizes around the treaty's own, and draw ψ against both."""
    results = [
        [outlook.rehearse(scaled(outlook.plan, e, n), precision=0.05) for e in FACTORS]
        for n in FACTORS
    ]
    grid: FloatArray = np.array([[one.psi.value for one in row] for row in results])
    noise: FloatArray = np.array([[max(one.noise, 1e-12) for one in row] for row in results])
    figure = canvas(13, 4.2)
    surface, by_epsilon, by_size = figure.subplots(1, 3)
    drawn = surface.contourf(
        FACTORS, FACTORS, np.log10(np.maximum(grid, 1e-12)), 12, cmap="viridis_r"
    )
    figure.colorbar(drawn, ax=surface, label="log₁₀ ψ")
    surface.plot([1], [1], "*", color="white", markersize=14)
    surface.set(xscale="log", yscale="log", xlabel="every ε times", ylabel="every n times")
    surface.set_title("ψ against ε and n (★ the treaty)", loc="left", fontsize=11)
    for axes, along, part, what in (
        (by_epsilon, grid, noise, "ε"),
        (by_size, grid.T, noise.T, "n"),
    ):
        other = "n" if what == "ε" else "ε"
        for index in (0, 2, 4):
            label = f"{other} × {FACTORS[index]:g}{_slope(part[index], along[index])}"
            axes.plot(FACTORS, along[index], "o-", label=label)
        for value, color, name in _levels(forecast):
            axes.axhline(value, color=color, linestyle="--", linewidth=1, label=name)
        axes.set(xscale="log", yscale="log", xlabel=f"every {what} times", ylabel="ψ")
        axes.legend(fontsize=8, loc="best", framealpha=0.9, edgecolor="none")
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)


def _slope(noise: FloatArray, psi: FloatArray) -> str:
    """Say how the noise falls, where there is enough of it to be told from the rest."""
    enough = noise > 0.05 * psi
    if int(enough.sum()) < 2:
        return ""
    slope = float(np.polyfit(np.log(FACTORS[enough]), np.log(noise[enough]), 1)[0])
    return f", noise falls with slope {slope:.2f}"


def _levels(forecast: Forecast) -> list[tuple[float, str, str]]:
    levels = [(forecast.nothing.value, "C3", "nothing")]
    if forecast.public_only is not None:
        levels.append((forecast.public_only.value, "C1", "public rows only"))
    return levels


def scaled(plan: Plan, budgets: float, sizes: float) -> Plan:
    """Return the plan with every ε and every n_i multiplied."""
    return plan.with_parties(
        tuple(
            replace(
                party,
                budget=Budget(party.budget.epsilon * budgets, party.budget.delta),
                records=max(2, round(party.records * sizes)),
            )
            for party in plan.parties
        )
    )
