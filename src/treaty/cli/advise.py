"""treaty advise: whom to invite, which ε, at what price."""

import math
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
from treaty.cli.output import check_writable, console, named_files, print_json, share_of, waiting
from treaty.errors import TreatyError


def advise(
    treaty: TreatyFile,
    stand_in: StandIn = None,
    by: ByOwner = None,
    own: Own = None,
    private: Private = False,
    generate: Generate = False,
    public_rows: PublicRows = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", metavar="PSI", help="A ψ to reach: 5% or 0.05 above the least loss."
        ),
    ] = None,
    owner: Annotated[
        str | None,
        typer.Option(
            "--owner",
            metavar="NAME",
            help="Whose ε alone reaches the target, or beats being alone.",
        ),
    ] = None,
    prices: Annotated[
        list[str] | None,
        typer.Option(
            "--prices", metavar="NAME=PRICE", help="Price of a unit of ε; once for each party."
        ),
    ] = None,
    spend: Annotated[
        float | None, typer.Option("--spend", metavar="MONEY", help="What there is to spend.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Draw what owners add, when it pays, scenarios."
        ),
    ] = None,
    worthwhile: Worthwhile = "1%",
    loss: OwnLosses = None,
    as_json: Json = False,
) -> None:
    """Say whom to invite, what each owner adds, and what a target or a price asks for.

    With --by or --own, first what the recommended coalition does to owners' own errors, and whether it
    is stable: nobody in it would rather stay away, nobody outside would rather be in.

    Example:

        treaty demo --keep flights

        treaty advise flights/treaty.toml --stand-in flights/public.parquet --target 0.001
    """
    import treaty as t
    from treaty.advice import advice_of, with_own_gains
    from treaty.advice.picture import draw
    from treaty.advice.table import render
    from treaty.forecasting import outlook_on

    check_writable(plot, picture=True)
    document = t.load(treaty)
    records = named_files(own or [], "--own")
    with waiting("rehearsing", quiet=as_json):
        evidence = t.Evidence(
            stand_in,
            private=private,
            by=by,
            own=records,
            generate=generate,
            public_rows=public_rows,
        )
        outlook = outlook_on(document, evidence)
        advice = advice_of(
            outlook,
            target=None if target is None else share_of(target, "--target", math.inf),
            owner=owner,
            prices=None if prices is None else _prices(prices),
            spend=spend,
        )
        advice = with_own_gains(advice, document, evidence, worthwhile=share_of(worthwhile))
        _ = advice.gains  # computed while it is said that something is going on
        if plot is not None:
            draw(outlook, advice, document.target, plot)
    if as_json:
        print_json(advice.plain(), private=advice.evidence == "private")
        return
    console.print(render(advice))


def _prices(pairs: list[str]) -> dict[str, float]:
    prices: dict[str, float] = {}
    for pair in pairs:
        name, _, price = pair.rpartition("=")
        try:
            if not name:
                raise ValueError("no name")
            prices[name] = float(price)
        except ValueError as error:
            raise TreatyError(f'--prices takes NAME=PRICE, not "{pair}"') from error
    return prices
