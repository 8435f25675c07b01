"""treaty demo: airports, real flights, half a minute."""

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
    """Forecast, then train across 31 airports on real flight records, and compare.

    First the airports' own question, in minutes: do predictions of an airport's own flights get better?
    Then the papers': one model over everybody's flights.

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
        print_json(story.plain(), private=False)
        return
    _tell(story)
    if picture is not None:
        console.print(f"picture: {picture}")


ENDS = 3
"""So many airports at either end are shown: with the largest gains, and with the smallest."""


def _tell(story: "Story") -> None:
    from treaty.gains.table import summary

    _say(
        f"{len(story.told)} airports, {story.records:,} real flights from New York, ε = 1 each; "
        f"{story.public_rows:,} flights are public. How late do an airport's own next flights arrive?"
    )
    _say(f"Told before anybody trained: {summary(story.told, 'airports')}")
    _say(f"Measured after it: {summary(story.measured, 'airports')}", style="bold")
    console.print(_owners(story))
    _say(_moral(story))
    _say("One model over everybody's flights, as the learner and the papers see it:", style="bold")
    _papers_view(story)


def _say(words: str, style: str | None = None) -> None:
    console.print(words, style=style, highlight=False)


def _owners(story: "Story") -> "Table":
    """Return who gains most and least, in minutes, as forecast and as measured."""
    from rich.box import SIMPLE_HEAD

    from treaty.gains.own_gain import shown

    made = table(
        "Errors on an airport's own flights and the gain by joining, minutes; *: adapted",
        "airport",
        "flights",
        "alone",
        "public*",
        "together",
        "together*",
        "forecast, 90%",
        "measured",
    )
    made.box, made.collapse_padding, made.pad_edge = SIMPLE_HEAD, True, False
    measured = list(story.measured.items())
    for place, (name, gain) in enumerate(measured):
        if place == ENDS and len(measured) > 2 * ENDS:
            made.add_row("…", f"{len(measured) - 2 * ENDS} more")
        if ENDS <= place < len(measured) - ENDS:
            continue
        told, rival = story.told[name], gain.models[gain.rival].rmse.value
        models = (gain.alone, gain.public_adapted, gain.together, gain.adapted)
        before = told.models[told.rival].rmse.value
        low, high = (_minutes(before * end) for end in (told.gain.low, told.gain.high))
        made.add_row(
            name,
            f"{gain.records:,}",
            *(shown(each.rmse.value) for each in models if each is not None),
            f"{low} to {high}",
            _minutes(rival * gain.gain.value),
        )
    return made


def _minutes(gain: float) -> str:
    return f"{gain:.2f}".replace("-0.00", "0.00")


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _moral(story: "Story") -> str:
    """Say what the figures come to."""
    worthwhile = next(iter(story.measured.values())).worthwhile
    over_alone = story.over_alone
    lower = [name for name, share in over_alone.items() if share >= worthwhile]
    best = max(over_alone, key=lambda name: over_alone[name])
    said = (
        f"Against an airport's own model, joining lowers the error of {len(lower)} of {len(over_alone)} "
        f"airports by at least {100 * worthwhile:g}% ({best} by {_percent(over_alone[best])})"
    )
    gainers = sum(gain.decision == "join" for gain in story.measured.values())
    if gainers:
        return f"{said}; for {gainers} of them nothing else does as much."
    return (
        f"{said}; but the public model, adapted to its flights, does the same without spending ε."
    )


def _papers_view(story: "Story") -> None:
    report, expected = story.training, story.forecast
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
        _compare(shown, f"{name} alone, the {which}", forecast, psi)
    _compare(shown, "nothing: the same guess for every flight", expected.nothing, report.nothing)
    console.print(shown)
    console.print(
        f"Over everybody's flights {story.beaten} of {len(report.alone)} airports' own models are worse "
        "than the one together: they are asked about flights that never come to them. "
        f"Each spent ε = {max(report.spent.values()):.4g} in {max(report.answers.values())} answer."
    )


def _compare(shown: "Table", name: str, expected: "Estimate | None", measured: float) -> None:
    if expected is None:
        shown.add_row(name, "too few rows", "", f"{measured:.3g}")
        return
    interval = f"{expected.low:.3g} – {expected.high:.3g}"
    style = "bold green" if "just now" in name else None
    shown.add_row(name, f"{expected.value:.3g}", interval, f"{measured:.3g}", style=style)
