"""treaty demo: sixteen airlines, real flights, one minute."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from treaty.cli.options import Json
from treaty.cli.output import check_writable, console, print_json, progress_bar, table


def demo(
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Draw it (PNG, SVG).")
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="FOLDER", help="Only write treaty and records there."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train across sixteen airlines on real flight records, and compare.

    Example:

        treaty demo --picture demo.png
    """
    from treaty.demo.flights import write_flights
    from treaty.demo.story import tell

    check_writable(picture, picture=True)
    if keep is not None:
        for path in write_flights(keep):
            console.print(f"wrote {path}")
        return
    with tempfile.TemporaryDirectory() as folder, progress_bar("flying", quiet=as_json) as tick:
        story = tell(Path(folder), tick)
    if picture is not None:
        from treaty.demo.picture import draw

        draw(story, picture)
    if as_json:
        print_json(story.plain())
        return
    report = story.training
    console.print(
        f"\n[bold]16 airlines, {story.records:,} real flights, ε = 1 each, "
        f"{story.public_rows:,} public rows.[/bold] How late will a flight arrive?\n"
    )
    shown = table("Relative fitness ψ over all flights, lower is better", "model", "ψ")
    shown.add_row("all records in one place, no privacy", "0")
    now = f"{report.together:.5f}"
    shown.add_row("together, private (trained just now)", now, style="bold green")
    shown.add_row("together, private (100 simulated runs)", f"{story.simulated:.5f}")
    if report.public_only is not None:
        shown.add_row("public rows only", f"{report.public_only:.5f}")
    ranked = sorted(report.alone.items(), key=lambda item: item[1])
    for name, psi in (ranked[0], ranked[len(ranked) // 2], ranked[-1]):
        which = {0: "best", len(ranked) - 1: "worst"}.get(ranked.index((name, psi)), "median")
        shown.add_row(f"{story.names.get(name, name)} alone ({which} airline)", f"{psi:.4g}")
    shown.add_row("nothing: the same guess for every flight", f"{report.nothing:.4f}")
    console.print(shown)
    console.print(
        f"{story.beaten} of {len(report.alone)} airlines are better off together than alone. "
        f"Each spent ε = {max(report.spent.values()):g} in {max(report.answers.values())} answers."
    )
    if picture is not None:
        console.print(f"picture: {picture}")
