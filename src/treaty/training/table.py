"""A training as tables."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from treaty.fitness import PSI_IN_WORDS
from treaty.gains.table import LEARNERS_VIEW, render_all
from treaty.views import epsilon_text

if TYPE_CHECKING:
    from treaty.training.training import Training


def render(report: "Training", *, owners: bool = False) -> Group:
    """Return a training as something Rich prints.

    Args:
        report: the training.
        owners: whether to begin with what it does to each owner's own errors.
    """
    parts: list[RenderableType] = []
    if owners and report.owners:
        parts += [render_all(report.owners), Text(LEARNERS_VIEW, style="bold")]
    parts.append(Text(sentence(report), style="bold"))
    standings = _table("Relative fitness ψ, lower is better (0 = without privacy)", "model", "ψ")
    for row in report.standings():
        style = "bold green" if row.name.startswith("together") else None
        standings.add_row(Text(row.name), f"{row.psi:.4g}", style=style)
    spent = _table("Budget", "owner", "answers", "ε spent")
    for name, epsilon in report.spent.items():
        spent.add_row(Text(name), f"{report.answers[name]:,}", epsilon_text(epsilon))
    parts += [standings, Text(PSI_IN_WORDS), spent]
    steps = ", ".join(f"{name} = {value:.4g}" for name, value in report.parameters.items())
    if steps:
        parts.append(Text(f"step sizes: {steps}"))
    return Group(*parts)


def sentence(report: "Training") -> str:
    """Say in one sentence what the shared model is better and worse than, over all records."""
    together = report.together
    beaten = sum(psi > together for psi in report.alone.values())
    said = (
        f"Over everybody's records the shared model is better than {beaten} of {len(report.alone)}"
    )
    said += " owners' own models"
    poor = sum(psi > max(together, report.nothing) for psi in report.alone.values())
    if poor:
        said += f" ({poor} of which a constant guess beats as well)"
    others = {"the public rows alone": report.public_only, "a constant guess": report.nothing}
    for name, psi in others.items():
        if psi is not None:
            said += f", {'better' if together < psi else 'worse'} than {name}"
    return said + "."


def _table(title: str, *columns: str) -> Table:
    made = Table(title=title, title_justify="left", header_style="bold", min_width=len(title))
    for place, column in enumerate(columns):
        made.add_column(column, justify="right" if place else "left", overflow="fold")
    return made
