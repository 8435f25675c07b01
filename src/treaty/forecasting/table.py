"""A forecast as a table."""

import io
import math
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from treaty.fitness import PSI_IN_WORDS
from treaty.gains.table import render_all as own_view
from treaty.measures import Estimate

if TYPE_CHECKING:
    from treaty.forecasting.forecasts import Forecast

EVIDENCE = {
    "public": "public rows",
    "private": "private rows; this report must not leave",
    "generated": "rows made up from public bounds, the weakest evidence",
}
LEARNERS_VIEW = "One model over everybody's records, as the learner and the papers see it:"


def text(forecast: "Forecast") -> str:
    """Return a forecast as text."""
    out = io.StringIO()
    Console(file=out, width=100).print(render(forecast))
    return out.getvalue().rstrip()


def render(forecast: "Forecast") -> Group:
    """Return a forecast as something Rich prints."""
    table = Table(header_style="bold")
    table.add_column("model")
    table.add_column("ψ", justify="right")
    table.add_column("90% interval", justify="right")
    _row(table, "together, private", forecast.together, style="bold green")
    table.add_row("  of which optimisation leaves", _number(forecast.optimisation), "")
    table.add_row("  of which noise adds", _number(forecast.noise), "")
    known = [item for item in forecast.alone.items() if item[0] not in forecast.unknown]
    ranked = sorted(known, key=lambda item: item[1].value)
    hidden = range(4, len(ranked) - 4) if len(ranked) > 12 else range(0)
    for place, (name, estimate) in enumerate(ranked):
        if place == 4 and hidden:
            table.add_row(f"  ({len(hidden)} owners in between)", "", "")
        if place not in hidden:
            _row(table, f"{name} alone", estimate)
    if forecast.unknown:
        table.add_row(f"  ({len(forecast.unknown)} owners: too few rows to tell)", "", "")
    if forecast.public_only is not None:
        _row(table, "public rows only", forecast.public_only)
    _row(table, "nothing: a constant guess", forecast.nothing)
    if forecast.curator is not None:
        _row(table, "floor: one trusted curator, smallest ε", forecast.curator, style="dim")
    table.add_row(
        "floor's rate, Bassily et al., constant unknown", _number(forecast.rate), "", style="dim"
    )
    bound, published = forecast.bound, forecast.published
    if bound is not None and published is not None:
        named = f"bound: {bound.theorem}"
        table.add_row(f"{named}, corrected", _number(bound.total), "", style="dim")
        table.add_row(f"{named}, as published", _number(published.total), "", style="dim")
    head = Text(
        f"{forecast.title}\n{len(forecast.parties)} parties, {forecast.method}, T = "
        f"{forecast.horizon}; from {forecast.stand_in_rows:,} {EVIDENCE[forecast.evidence]}; "
        + told_apart(forecast.alike)
    )
    notes: list[Text] = []
    if bound is not None and math.isinf(bound.total):
        notes.append(Text(f"{bound.theorem} says nothing: these steps exceed what it allows."))
    own = [own_view(forecast.owners), Text("")] if forecast.owners else []
    cost = Text(f"cost of privacy f(θ) − f(θ*): {forecast.cost}")
    learners = Text(LEARNERS_VIEW, style="bold") if own else Text("")
    verdict = (Text(line) for line in forecast.verdict)
    return Group(
        *own, *([learners] if own else []), head, table, Text(PSI_IN_WORDS), cost, *notes, *verdict
    )


def told_apart(alike: bool) -> str:
    """Return in words whether owners were assumed to be alike."""
    return "owners assumed alike" if alike else "owners told apart"


def _row(table: Table, name: str, estimate: Estimate, style: str | None = None) -> None:
    interval = f"[{_number(estimate.low)}, {_number(estimate.high)}]"
    table.add_row(Text(name), _number(estimate.value), Text(interval), style=style)


def _number(value: float) -> str:
    return "—" if math.isinf(value) else f"{value:.3g}"
