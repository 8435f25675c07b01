"""treaty revoke: take a grant back."""

from pathlib import Path
from typing import Annotated

import typer

from treaty.cli.options import HomeFolder
from treaty.cli.output import console
from treaty.errors import TreatyError


def revoke(
    treaty: Annotated[str, typer.Argument(help="The fingerprint, or as much of it as is unique.")],
    home: HomeFolder = Path("treaty-owner"),
) -> None:
    """Answer nothing more under a treaty. What it has spent stays spent.

    Example:

        treaty revoke 3f9a01
    """
    from treaty.federation.home import Home

    ledger = Home(home).ledger()
    try:
        found = [g.treaty for g, _ in ledger.grants() if g.treaty.startswith(treaty)]
        if len({name.partition("/")[0] for name in found}) != 1:
            raise TreatyError(f"{len(found)} treaties begin with {treaty}")
        for name in found:
            ledger.revoke(name)
            console.print(f"Revoked: {name[:12]}{name[64:]}", highlight=False)
    finally:
        ledger.close()
