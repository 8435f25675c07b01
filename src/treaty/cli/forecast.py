"""treaty forecast: what the collaboration is worth, before anyone trains."""

from pathlib import Path
from typing import Annotated

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
    share_of,
)


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
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw ψ against ε and n.")
    ] = None,
    worthwhile: Worthwhile = "1%",
    loss: OwnLosses = None,
    as_json: Json = False,
) -> None:
    """Say what a collaboration is worth, for whom, before anyone spends budget.

    With --own, first the owner's own question: would joining lower the error on its own next records,
    by how much, against the best it can have without. Then the learner's: the real algorithm runs on
    stand-in rows with the noise of the real plan. Beside the expected ψ: each owner alone, the public
    rows only, a constant guess, the papers' bounds and a floor.

    Example:

        treaty demo --keep flights

        treaty forecast flights/treaty.toml --stand-in flights/public.parquet --by dest
    """
    import treaty as t
    from treaty.forecasting import forecasts_of, outlook_on, with_owners
    from treaty.forecasting.picture import draw
    from treaty.forecasting.table import render

    check_writable(plot, picture=True)
    document = t.load(treaty)
    records = named_files(own or [], "--own")
    evidence = t.Evidence(
        stand_in, private=private, by=by, own=records, generate=generate, public_rows=public_rows
    )
    result: t.Forecast | None = None
    with progress_bar("rehearsing", quiet=as_json) as tick:
        outlook = outlook_on(document, evidence)
        for result in forecasts_of(outlook, precision=precision):
            tick(round(1_000 * result.done), 1_000)
        assert result is not None
        result = with_owners(result, document, evidence, worthwhile=share_of(worthwhile))
        _ = result.owners  # computed while the bar is shown
        if plot is not None:
            draw(outlook, result, plot)
    if as_json:
        print_json(result.plain())
    else:
        console.print(render(result))
