"""treaty ratify: an owner grants a treaty a budget."""

from pathlib import Path
from typing import Annotated

import typer

from treaty.cli.options import HomeFolder, TreatyFile
from treaty.cli.output import console, remarks, warn
from treaty.errors import TreatyError


def ratify(
    treaty: TreatyFile,
    epsilon: Annotated[float, typer.Option("--epsilon", help="ε granted to this treaty in all.")],
    data: Annotated[
        Path,
        typer.Option(
            "--data", metavar="FILE", help="The records: CSV, Parquet, or TOML about a database."
        ),
    ],
    name: Annotated[str, typer.Option("--name", help="Who ratifies, as the treaty calls it.")],
    delta: Annotated[float, typer.Option("--delta", help="δ granted; 0 is pure ε.")] = 0.0,
    peers: Annotated[
        bool, typer.Option("--peers", help="Every party is a learner; the budget is shared out.")
    ] = False,
    home: HomeFolder = Path("treaty-owner"),
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Read what a treaty asks for in plain words, and grant it a budget, or not.

    The first ratification makes the owner's folder: a ledger for these records, and a policy with
    careful defaults to be read and changed. Nothing leaves here.

    Example:

        treaty federation demo --keep banks

        treaty ratify banks/treaty.toml --name "North Bank" --epsilon 1.0
        --data banks/north-bank.parquet --home somewhere --yes
    """
    import treaty as t
    from treaty.owner.home import Home
    from treaty.records.probing import probe
    from treaty.terms.reading import check_settled
    from treaty.training.doubts import doubts

    document = t.load(treaty)
    check_settled(document, treaty)
    probe(data)
    owner = Home(home)
    fresh = not owner.folder.exists()
    offer = owner.offer(document, name, epsilon, data, delta=delta, peers=peers)
    console.print(offer.words(), highlight=False)
    source = document.open(data)
    warn([*remarks(source), *doubts(document, {name: source})], quiet=False)
    if not yes and not typer.confirm("Grant this?"):
        raise TreatyError("nothing has been granted")
    owner.ratify(offer, data)
    console.print(f"Granted, and written into {owner.ledger_file}.", highlight=False)
    if fresh:
        console.print(
            f"A policy with careful defaults is in {owner.policy_file}: read it.", highlight=False
        )
