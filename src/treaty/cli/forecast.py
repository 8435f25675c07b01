"""treaty forecast: what the collaboration is worth, before anyone trains."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treaty.cli.options import (
    ByOwner,
    Generate,
    Json,
    Own,
    OwnLosses,
    Private,
    PublicRows,
    StandIn,
    TreatyFile,
    Worthwhile,
)
from treaty.cli.output import (
    check_writable,
    console,
    named_files,
    print_json,
    progress_bar,
    remarks,
    share_of,
    table,
    waiting,
    warn,
)
from treaty.errors import TreatyError

if TYPE_CHECKING:
    from treaty.settings.diagnosing import Diagnosis
    from treaty.terms import Treaty


def forecast(
    treaty: TreatyFile,
    stand_in: StandIn = None,
    by: ByOwner = None,
    own: Own = None,
    private: Private = False,
    generate: Generate = False,
    public_rows: PublicRows = None,
    precision: Annotated[
        float,
        typer.Option(
            "--precision", min=0.001, max=0.5, help="Relative Monte-Carlo error to reach."
        ),
    ] = 0.02,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the errors (PNG, SVG).")
    ] = None,
    worthwhile: Worthwhile = "1%",
    settings: Annotated[
        bool,
        typer.Option(
            "--settings/--no-settings", help="Say which line of the treaty to change, if any."
        ),
    ] = True,
    details: Annotated[
        bool,
        typer.Option("--details", help="Add what noise adds, the floor and the papers' bounds."),
    ] = False,
    loss: OwnLosses = None,
    as_json: Json = False,
) -> None:
    """Say what a collaboration is worth, for whom, before anyone spends budget.

    With --own, first the owner's own question: would joining lower the error on its own next records,
    by how much, against the best it can have without. Then the learner's: the real algorithm runs on
    stand-in rows with the noise of the real plan. Beside the expected ψ: each owner alone, the public
    rows only, a constant guess; with --details also a floor and the papers' bounds. Last, with public
    rows: whether it is the treaty's settings that decide, which line to change, and what that brings.

    Example:

        treaty demo --keep flights

        treaty forecast flights/treaty.toml --stand-in flights/public.parquet --by dest
    """
    import treaty as t
    from treaty.forecasting import forecasts_of, outlook_on, with_owners
    from treaty.forecasting.picture import draw
    from treaty.forecasting.table import render
    from treaty.plans.waste import waste
    from treaty.training.doubts import counted

    check_writable(plot, picture=True)
    document = t.load(treaty)
    records = named_files(own or [], "--own")
    evidence = t.Evidence(
        stand_in, private=private, by=by, own=records, generate=generate, public_rows=public_rows
    )
    notes = _notes(document, stand_in, by, as_json)
    strange = counted(document, {name: document.open(file) for name, file in records.items()})
    warn(strange, quiet=as_json)
    notes += strange
    result: t.Forecast | None = None
    with progress_bar("rehearsing", quiet=as_json) as tick:
        outlook = outlook_on(document, evidence)
        unused = waste(outlook.plan)
        warn(unused, quiet=as_json)
        for result in forecasts_of(outlook, precision=precision):
            tick(round(1_000 * result.done), 1_000)
        assert result is not None
        result = with_owners(result, document, evidence, worthwhile=share_of(worthwhile))
        _ = result.owners  # computed while the bar is shown
        if plot is not None:
            draw(outlook, result, document.target, plot)
    looked, why_not = None, ""
    if settings and stand_in is not None and not private:
        with waiting("trying other settings", quiet=as_json):
            looked, why_not = _settings(document, stand_in)
    if as_json:
        told = {} if looked is None else {"settings": _plain(looked)}
        told |= {"notes": [*notes, *unused]}
        print_json({**result.plain(), **told}, private=result.evidence == "private")
        return
    console.print(render(result, details=details))
    if looked is not None:
        _show(looked, document.target.unit)
    elif why_not:
        console.print(f"Other settings were not tried: {why_not}", style="dim")


def _notes(document: "Treaty", stand_in: Path | None, by: str | None, quiet: bool) -> list[str]:
    """Say what is probably not meant about the stand-in."""
    from treaty.training.doubts import doubts

    if stand_in is None:
        return []
    source = document.open(stand_in)
    owners = [] if by is None else [p.name for p in document.parties]
    rows = {name: source.of_owner(str(by), name) for name in owners} or {"the stand-in": source}
    notes = [*remarks(source), *doubts(document, rows)]
    warn(notes, quiet=quiet)
    return notes


def _settings(document: "Treaty", stand_in: Path) -> "tuple[Diagnosis | None, str]":
    """Try other settings on the public rows; say why, if that cannot be."""
    from treaty.settings.diagnosing import diagnosis
    from treaty.settings.expecting import Judge

    try:
        judge = Judge(document.open(stand_in), [*document.features, document.target.column])
        return diagnosis(document, judge), ""
    except TreatyError as error:
        return None, str(error)


def _plain(looked: "Diagnosis") -> dict[str, object]:
    return {
        "verdict": looked.words,
        "expected_error": looked.told.error,
        "expected_error_public_only": looked.planned.public_error,
        "expected_error_with_good_settings": looked.planned.error,
        "changes": [
            {"line": change.line, "write": change.words, "expected_error": change.error}
            for change in looked.changes
        ],
    }


def _show(looked: "Diagnosis", unit: str) -> None:
    from treaty.gains.own_gain import shown

    what = "log loss" if looked.told.labels else "error"
    beside = table(
        f"Settings: expected {what} on further records{f', {unit}' if unit else ''}",
        "line of the treaty",
        "written like this",
        what,
    )
    beside.columns[1].justify = "left"
    beside.add_row("", "as it is", shown(looked.told.error))
    for change in looked.changes:
        beside.add_row(change.line, change.words, shown(change.error))
    beside.add_row("", "good settings throughout", shown(looked.planned.error), style="bold green")
    beside.add_row("", "the public rows only", shown(looked.public_error))
    console.print(beside)
    console.print(looked.words)
