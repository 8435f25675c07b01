"""treaty dialect: write down how a text file of records is written."""

from pathlib import Path
from typing import Annotated

import typer

from treaty.cli.output import check_new, console
from treaty.errors import TreatyError


def dialect(
    data: Annotated[
        Path, typer.Argument(metavar="FILE", help="A text file of records (CSV and its kin).")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE.toml", help="Write the source file here; else show it."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite it.")] = False,
) -> None:
    """Propose how a text file is written, as a source file: read it, correct it, and use it as --data.

    How records are read is stated before they are: what one record becomes must not depend on how
    another one is written. What is proposed here is computed from the records; what counts is what you
    keep of it.

    Example:

        treaty dialect ours.csv --out ours.toml
    """
    from treaty.records import proposed_dialect
    from treaty.records.files import TEXTS
    from treaty.records.opening import source_text

    if data.suffix.lower() not in TEXTS:
        raise TreatyError(f"{data}: only a text file ({', '.join(TEXTS)}) has a dialect")
    proposed = proposed_dialect(data)
    if out is None:
        print(source_text(data, proposed), end="")
        return
    if out.suffix.lower() != ".toml":
        raise TreatyError(f"{out}: a source file ends in .toml")
    check_new(out, force=force)
    out.write_text(source_text(data.resolve(), proposed), encoding="utf-8")
    words = proposed.words() or "commas, UTF-8, decimal points"
    console.print(f"wrote {out} ({words}): read it, correct it, and give it as --data {out}")
