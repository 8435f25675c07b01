"""treaty demo: sixteen airlines, real flights, one minute."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treaty.cli.options import Json
from treaty.cli.output import check_writable, console, print_json, progress_bar, table

if TYPE_CHECKING:
    from rich.table import Table

    from treaty.demo.story import Story
    from treaty.measures import Estimate


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
    """Forecast, then train across sixteen airlines on real flight records, and compare.

    Example:

        treaty demo --picture demo.png
    """
    from treaty.demo.story import tell
    from treaty.studies.flights import write_flights

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
    _tell(story)
    if picture is not None:
        console.print(f"picture: {picture}")


def _tell(story: "Story") -> None:
    from treaty.gains.table import render_all, summary

    report, expected = story.training, story.forecast
    console.print(
        f"\n16 airlines, {story.records:,} real flights, ε = 1 each, "
        f"{story.public_rows:,} public rows. How late will a flight arrive?\n"
    )
    console.print(f"Before anybody trained: {summary(expected.owners)}\nThen, as measured:")
    console.print(render_all(report.owners))
    console.print(
        "\nOne model over everybody's flights, as the learner and the papers see it:", style="bold"
    )
    for line in expected.verdict:
        console.print(f"  {line}")
    shown = table(
        "Relative fitness ψ over all flights, lower is better",
        "model",
        "forecast",
        "90%",
        "measured",
    )
    shown.add_row("all records in one place, no privacy", "0", "", "0")
    _compare(shown, "together, private: trained just now", expected.together, report.together)
    _compare(shown, "together, private: 100 simulated runs", expected.together, story.simulated)
    if report.public_only is not None and expected.public_only is not None:
        _compare(shown, "public rows only", expected.public_only, report.public_only)
    ranked = sorted(report.alone.items(), key=lambda item: item[1])
    for place, which in ((0, "best"), (len(ranked) // 2, "median"), (-1, "worst")):
        name, psi = ranked[place]
        forecast = None if name in expected.unknown else expected.alone[name]
        _compare(shown, f"{story.names[name]} alone, the {which}", forecast, psi)
    _compare(shown, "nothing: the same guess for every flight", expected.nothing, report.nothing)
    console.print(shown)
    console.print(
        f"Over everybody's flights {story.beaten} of {len(report.alone)} airlines' own models are worse "
        "than the one together: they are asked about flights that they never fly. "
        f"Each spent ε = {max(report.spent.values()):g} in {max(report.answers.values())} answers."
    )


def _compare(shown: "Table", name: str, expected: "Estimate | None", measured: float) -> None:
    if expected is None:
        shown.add_row(name, "too few rows", "", f"{measured:.3g}")
        return
    interval = f"{expected.low:.2g} – {expected.high:.2g}"
    style = "bold green" if "just now" in name else None
    shown.add_row(name, f"{expected.value:.3g}", interval, f"{measured:.3g}", style=style)
