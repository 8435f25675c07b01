"""treaty fit: fit the public dictionary and put it beside the treaty."""

from pathlib import Path
from typing import Annotated

import typer

from treaty.cli.options import Json, TreatyFile
from treaty.cli.output import console, print_json
from treaty.errors import TreatyError


def fit(
    treaty: TreatyFile,
    public: Annotated[
        Path, typer.Option("--public", metavar="FILE", help="Public rows (CSV, Parquet).")
    ],
    as_json: Json = False,
) -> None:
    """Fit the treaty's dictionary on public rows, write it beside the treaty as JSON.

    Knots and class weights that public rows decide are written into the treaty itself. From then on all
    of it is part of the treaty and of its fingerprint: this is what parties ratify.

    Example:

        treaty demo --keep flights

        treaty fit flights/treaty.toml --public flights/public.parquet
    """
    import treaty as t
    from treaty.terms import fit as fit_treaty
    from treaty.terms import plan_of
    from treaty.terms.settling import settled_text, write_fitted

    document = t.load(treaty)
    if document.fitted is not None:
        raise TreatyError(
            f"{treaty}: nothing is left to fit: its dictionary has been fitted already, as treaty init "
            "and plan do. Go on with it as it is; only to fit it anew on other rows, take out the line "
            "that begins with fitted"
        )
    settled = fit_treaty(document, public)
    plan_of(settled)  # what nobody could train under is told before it is written
    fitted = settled.fitted
    assert fitted is not None
    text = settled_text(treaty.read_text(encoding="utf-8"), settled)
    beside = write_fitted(treaty, text, settled)
    print_ = t.fingerprint(t.load(treaty))
    if as_json:
        print_json(
            {"dictionary": str(beside), "treaty": print_, "parameters": fitted.dimension},
            private=False,
        )
        return
    console.print(f"wrote {beside}: {fitted.dimension} parameters from {fitted.public_rows:,} rows")
    console.print(f"treaty {print_}")
