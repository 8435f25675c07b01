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
    from treaty.terms.settling import settled_text

    document = t.load(treaty)
    if document.fitted is not None:
        raise TreatyError(f"{treaty}: the dictionary has been fitted already; remove fitted first")
    settled = fit_treaty(document, public)
    fitted = settled.fitted
    assert fitted is not None
    beside = treaty.with_suffix(".dictionary.json")
    beside.write_text(fitted.model_dump_json(indent=1) + "\n", encoding="utf-8")
    text = settled_text(treaty.read_text(encoding="utf-8"), settled)
    lines = text.splitlines(keepends=True)
    place = next(i for i, line in enumerate(lines) if line.lstrip().startswith("version")) + 1
    lines.insert(place, f'fitted = "{beside.name}"\n')
    treaty.write_text("".join(lines), encoding="utf-8")
    print_ = t.fingerprint(t.load(treaty))
    if as_json:
        print_json({"dictionary": str(beside), "treaty": print_, "parameters": fitted.dimension})
        return
    console.print(f"wrote {beside}: {fitted.dimension} parameters from {fitted.public_rows:,} rows")
    console.print(f"treaty {print_}")
