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
)
from treaty.cli.output import check_writable, console, named_files, print_json, waiting


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
    loss: OwnLosses = None,
    as_json: Json = False,
) -> None:
    """Say what a collaboration is worth, for whom, before anyone spends budget.

    The real algorithm runs on stand-in rows with the noise of the real plan. Beside the expected ψ:
    each owner alone, the public rows only, a constant guess, the papers' bounds and a floor.

    Example:

        treaty demo --keep flights

        treaty forecast flights/treaty.toml --stand-in flights/public.parquet --by carrier
    """
    import treaty as t
    from treaty.forecast import forecast_of, outlook
    from treaty.forecast.table import render

    check_writable(plot, picture=True)
    document = t.load(treaty)
    source = None if stand_in is None else t.Source(stand_in)
    records = {name: t.Source(path) for name, path in named_files(own or [], "--own").items()}
    with waiting("rehearsing", quiet=as_json):
        seen = outlook(
            document,
            source,
            private=private,
            by=by,
            own=records,
            generate=generate,
            public_rows=public_rows,
        )
        told = forecast_of(seen, document.title, precision=precision)
        if plot is not None:
            from treaty.forecast.picture import draw

            draw(seen, told, plot)
    if as_json:
        print_json(told.plain())
    else:
        console.print(render(told))
