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

        treaty federation demo --keep banks

        treaty revoke f467f1 --home banks/north-bank
    """
    from treaty.owner.home import Home

    ledger = Home(home).ledger()
    try:
        known = {grant.treaty.partition("/")[0] for grant, _ in ledger.grants()}
        found = [name for name in known if name.startswith(treaty)]
        if len(found) != 1:
            raise TreatyError(f"{len(found)} treaties begin with {treaty}")
        for name in ledger.revoke(found[0]):
            console.print(f"Revoked: {name[:12]}{name[64:]}", highlight=False)
    finally:
        ledger.close()
