"""What a collaboration is worth as a picture: for every owner, and one model by budget and records."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treaty.arrays import FloatArray
from treaty.canvas import (
    BLUE,
    GREEN,
    SKY,
    ErrorAxis,
    by_factors,
    canvas,
    headline,
    levels,
    mark_private,
)
from treaty.forecasting.forecasts import Forecast
from treaty.forecasting.outlook import Outlook
from treaty.gains.picture import owners_panel, panel_height
from treaty.plans import Plan
from treaty.privacy import Budget
from treaty.records import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FACTORS = np.logspace(-1, 1, 5)
SIZES = {
    0.1: ("a tenth of the records", "s", SKY),
    1.0: ("as many records as in the treaty", "D", BLUE),
    10.0: ("ten times the records", "^", GREEN),
}


def draw(outlook: Outlook, forecast: Forecast, target: Target, path: Path) -> None:
    """Rehearse budgets and sizes around the treaty's own, and draw errors beside those of owners.

    Args:
        outlook: the treaty in the light of evidence.
        forecast: its forecast, with owners' own gains where there are any.
        target: what is predicted.
        path: where the picture goes.
    """
    owners = forecast.owners
    figure = canvas(12 if owners else 6.5, panel_height(owners))
    panels = figure.subplots(1, 2 if owners else 1, squeeze=False)[0]
    if owners:
        owners_panel(panels[0], owners)
    _one_model(panels[-1], outlook, forecast, target)
    if forecast.evidence == "private":
        mark_private(figure)
    figure.savefig(path, dpi=150)


def _one_model(axes: "Axes", outlook: Outlook, forecast: Forecast, target: Target) -> None:
    """Draw the error of one model over everybody's records against the budget, for three sizes."""
    axis = ErrorAxis(outlook.fitness, target, outlook.plan.problem.fitness_loss.name)
    epsilons = np.array([epsilon for _, _, epsilon in forecast.parties])
    same = bool(np.ptp(epsilons) == 0) and bool(np.isfinite(epsilons[0]))
    at: FloatArray = FACTORS * (float(epsilons[0]) if same else 1.0)
    highest = 0.0
    for size, (words, mark, colour) in SIZES.items():
        psi = np.array(
            [
                outlook.rehearse(scaled(outlook.plan, e, size), precision=0.05).psi.value
                for e in FACTORS
            ]
        )
        errors = axis.of_all(psi)
        highest = max(highest, float(errors.max()))
        axes.plot(at, errors, mark, linestyle="-", color=colour, label=f"together, {words}")
    known = {name: axis.of(psi) for name, psi in _rivals(forecast).items()}
    reasonable = axis.of(0.0) + 1.5 * (highest - axis.of(0.0))
    levels(axes, known, max(highest, min(reasonable, max(known.values()))))
    what = (
        "privacy budget ε of every owner" if same else "ε of every owner, times that of the treaty"
    )
    by_factors(axes)
    axes.set(xlabel=f"{what}: more is less private", ylabel=axis.label)
    headline(axes, "One model for everybody's records")
    axes.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)
    axes.grid(alpha=0.3)


def _rivals(forecast: Forecast) -> dict[str, float]:
    """Return ψ of what there is without a collaboration, and of the best there could be."""
    known: dict[str, float] = {}
    if forecast.public_only is not None:
        known["the public rows only"] = forecast.public_only.value
    known["a constant guess"] = forecast.nothing.value
    alone = [estimate.value for estimate in forecast.alone.values()]
    known["one owner's own model, median"] = float(np.median(alone))
    known["all records in one place, no privacy"] = 0.0
    return known


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
