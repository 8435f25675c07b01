"""The four scenarios of W Fig. 6, the break-even map of F Fig. 6, and price against quality."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from treaty.advice.targets import priced_budgets
from treaty.advice.worth import Worth, worth_of
from treaty.arrays import FloatArray
from treaty.canvas import canvas
from treaty.errors import TreatyError
from treaty.forecasting import Outlook


def draw(outlook: Outlook, path: Path) -> None:
    """Draw what the worth of coalitions says about scenarios, numbers of owners and prices."""
    worth = worth_of(outlook)
    epsilons = np.array([party.budget.epsilon for party in outlook.plan.parties])
    if np.isinf(epsilons).any():
        raise TreatyError("a picture of advice needs a finite epsilon for every owner")
    figure = canvas(13, 8)
    panels = figure.subplots(2, 3).ravel()
    _scenarios(figure, panels[:4], worth, epsilons)
    _break_even(panels[4], worth, epsilons)
    _pareto(panels[5], worth, epsilons)
    figure.savefig(path, dpi=150)


def _scenarios(figure: Any, panels: Any, worth: Worth, epsilons: FloatArray) -> None:
    """W Fig. 6: the first owner's n and ε, while the others are small or large, shy or eager."""
    unit = float(np.mean(worth.noise * epsilons**2))
    size = float(np.mean(worth.records))
    n1, e1 = np.logspace(-1, 1, 25) * size, np.logspace(-1, 1, 25) * float(np.mean(epsilons))
    others = max(1, len(worth.names) - 1)
    cases = [("small, shy", 0.1, 0.1), ("small, eager", 0.1, 10), ("large, shy", 10, 0.1)]
    cases.append(("large, eager", 10, 10))

    def log_psi(sizes: float, budgets: float) -> FloatArray:
        e2 = budgets * float(np.mean(epsilons))
        total = n1[:, None] + others * sizes * size
        noise = unit / e1[None, :] ** 2 + others * unit / e2**2
        return np.log10(worth.optimisation + noise / total**2)

    for axes, (name, sizes, budgets) in zip(panels, cases, strict=True):
        psi = log_psi(sizes, budgets)
        # A scale of its own each: what matters is along which axis ψ moves, and by how much.
        levels = np.linspace(float(psi.min()) - 1e-3, float(psi.max()) + 1e-3, 21)
        drawn = axes.contourf(e1, n1, psi, levels, cmap="viridis_r")
        figure.colorbar(drawn, ax=axes, label="log₁₀ ψ", format="%.4g")
        axes.set(xscale="log", yscale="log", xlabel="ε of the first owner", ylabel="its records")
        axes.set_title(f"{others} other owners: {name}", loc="left", fontsize=10)


def _break_even(axes: Any, worth: Worth, epsilons: FloatArray) -> None:
    """F Fig. 6: N owners like the average one at ε; where together beats alone."""
    size = float(np.mean(worth.records))
    unit = float(np.mean(worth.noise * epsilons**2))
    count = np.unique(np.round(np.logspace(0, 2.5, 60)))
    epsilon = np.logspace(-2, 2, 60)
    together = worth.optimisation + unit / (epsilon[None, :] ** 2 * count[:, None] * size**2)
    alone = worth.sampling / size * (1 - 1 / count[:, None])
    axes.contourf(epsilon, count, together < alone, levels=[-0.5, 0.5, 1.5], colors=["0.9", "C2"])
    axes.set(xscale="log", yscale="log", xlabel="ε of every owner", ylabel="number of owners")
    axes.set_title(f"green: better together ({size:,.0f} records each)", loc="left", fontsize=10)


def _pareto(axes: Any, worth: Worth, epsilons: FloatArray) -> None:
    """What money buys when every unit of ε costs the same."""
    prices = dict.fromkeys(worth.names, 1.0)
    spend = np.logspace(-1, 1, 30) * float(epsilons.sum())
    psi: list[float] = []
    for money in spend:
        budgets = priced_budgets(worth, epsilons, prices, float(money))
        granted = np.array([budgets[name] for name in worth.names])
        noise = worth.noise * (epsilons / granted) ** 2
        psi.append(float(replace(worth, noise=noise).psi(np.ones((1, len(granted))))[0]))
    axes.plot(spend, psi, color="C0", label="cheapest budgets")
    axes.axhline(worth.nothing, color="C1", linestyle="--", label="without a coalition")
    axes.set(xscale="log", yscale="log", xlabel="Σ ε bought, at one price", ylabel="ψ")
    axes.set_title("price against quality", loc="left", fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    axes.grid(alpha=0.3)
