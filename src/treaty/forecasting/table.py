"""A forecast as a sentence and a table; theorems and rates for whoever asks."""

import math
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from treaty.fitness import PSI_IN_WORDS
from treaty.gains.own_gain import UNLIKE
from treaty.gains.table import LEARNERS_VIEW
from treaty.gains.table import render_all as own_view
from treaty.measures import Estimate
from treaty.views import some

if TYPE_CHECKING:
    from treaty.forecasting.forecasts import Forecast

EVIDENCE = {
    "public": "public rows",
    "private": "rows, and private ones: this report must not leave",
    "generated": "rows made up from public bounds, the weakest evidence",
}


def render(forecast: "Forecast", *, details: bool = False) -> Group:
    """Return a forecast as something Rich prints: what it means, then one table.

    Args:
        forecast: the forecast.
        details: whether to add what the optimisation leaves, what noise adds, the floor and the bounds.
    """
    head = Text(
        f"{forecast.title}\n{len(forecast.parties)} parties, {forecast.method}, "
        f"{rounds(forecast.horizon)}; from {forecast.stand_in_rows:,} {EVIDENCE[forecast.evidence]}; "
        + told_apart(forecast.alike)
    )
    own: list[RenderableType] = [own_view(forecast.owners), Text("")] if forecast.owners else []
    untold = [name for name, _, _ in forecast.parties if name not in forecast.owners]
    if own and untold and not forecast.alike and forecast.evidence == "public":
        said = f"Too few of the rows are of {some(untold)} to tell what joining would do for them."
        own.insert(1, Text(said))
    parts: list[RenderableType] = [*own]
    if own:
        parts.append(Text(LEARNERS_VIEW, style="bold"))
    parts.append(head)
    unlike = [name for name, gain in forecast.owners.items() if gain.unlike_public]
    if unlike:
        parts.append(Text(_unlike(unlike), style="bold yellow"))
    else:
        parts += [
            Text(line, style="bold" if not place else "")
            for place, line in enumerate(forecast.verdict)
        ]
    parts += [_models(forecast), Text(PSI_IN_WORDS)]
    if details:
        parts += _details(forecast)
    return Group(*parts)


def _unlike(names: list[str]) -> str:
    """Say why the figures below are not to be relied on."""
    return (
        f"The records of {some(names)} are not like the public rows: the public model errs at least "
        f"{UNLIKE:g} times as much there as their own. The figures below take everybody's records to be "
        "like the public rows, so do not rely on them; public rows that are like yours would tell more."
    )


def rounds(horizon: int) -> str:
    """Say over how many rounds is trained."""
    return "one round" if horizon == 1 else f"{horizon:,} rounds"


def _models(forecast: "Forecast") -> Table:
    """Return what each model is expected to come to."""
    table = _table()
    _row(table, "together, private", forecast.together, style="bold green")
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
    return table


def _details(forecast: "Forecast") -> list[RenderableType]:
    """Return where the error comes from, and what theory says of it."""
    table = _table()
    table.add_row("what the optimisation leaves", _number(forecast.optimisation), "")
    table.add_row("what noise adds", _number(forecast.noise), "")
    if forecast.curator is not None:
        _row(table, "floor: one trusted curator, smallest ε", forecast.curator)
    table.add_row("floor's rate, Bassily et al., constant unknown", _number(forecast.rate), "")
    bound, published = forecast.bound, forecast.published
    if bound is not None and published is not None:
        named = f"bound: {bound.theorem}"
        table.add_row(f"{named}, corrected", _number(bound.total), "")
        table.add_row(f"{named}, as published", _number(published.total), "")
    parts: list[RenderableType] = [table, Text(f"cost of privacy f(θ) − f(θ*): {forecast.cost}")]
    if bound is not None and math.isinf(bound.total):
        parts.append(Text(f"{bound.theorem} says nothing: these steps exceed what it allows."))
    return parts


def _table() -> Table:
    table = Table(header_style="bold")
    table.add_column("model", overflow="fold")
    table.add_column("ψ", justify="right")
    table.add_column("90% interval", justify="right")
    return table


def told_apart(alike: bool) -> str:
    """Return in words whether owners were assumed to be alike."""
    return "owners assumed alike" if alike else "owners told apart"


def _row(table: Table, name: str, estimate: Estimate, style: str | None = None) -> None:
    interval = f"[{_number(estimate.low)}, {_number(estimate.high)}]"
    table.add_row(Text(name), _number(estimate.value), Text(interval), style=style)


def _number(value: float) -> str:
    return "—" if math.isinf(value) else f"{value:.3g}"
