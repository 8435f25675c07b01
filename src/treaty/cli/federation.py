"""treaty federation: set a federation up, run its server, and see one on one machine."""

import asyncio
import signal
from pathlib import Path
from typing import Annotated

import typer

from treaty.cli.options import TreatyFile
from treaty.cli.output import console, quiet_asyncio

federation = typer.Typer(
    name="federation",
    no_args_is_help=True,
    help="Set a federation up, run its server, and see one on one machine.",
)


@federation.command()
def init(
    treaty: TreatyFile,
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="A new folder for everything.")
    ] = Path("federation"),
    host: Annotated[
        str, typer.Option("--host", help="The name under which the server is reached.")
    ] = "localhost",
    port: Annotated[int, typer.Option("--port", min=1, max=65535)] = 4222,
) -> None:
    """Make an authority, the server's configuration, and one credential for each party.

    Each folder is for one party: hand it over by a way you trust. The authority's own key stays with
    whoever sets the federation up.

    Example:

        treaty federation init banks/treaty.toml --out consortium --host nats.example.org
    """
    import treaty as t
    from treaty.federation.nats.authority import make_federation
    from treaty.terms.reading import check_settled

    document = t.load(treaty)
    check_settled(document, treaty)
    folder = make_federation(out, [p.name for p in document.parties], host=host, port=port)
    console.print(
        f"{folder}/authority   keep its key where nobody else can read it", highlight=False
    )
    console.print(
        f"{folder}/server      nats-server --config nats.conf, or treaty federation serve"
    )
    console.print(f"{folder}/operator    for treaty federation prepare, once", highlight=False)
    console.print(f"{folder}/learner     for the learner", highlight=False)
    for party in sorted((folder / "owners").iterdir()):
        console.print(f"{folder}/owners/{party.name}", highlight=False)


@federation.command()
def serve(
    folder: Annotated[Path, typer.Argument(help="The folder of treaty federation init.")],
) -> None:
    """Run the embedded server until stopped, prepared for its owners.

    Example:

        treaty federation serve federation
    """
    from treaty.federation.nats.server import serve as run

    quiet_asyncio()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run(folder, console.print)
    except KeyboardInterrupt:
        console.print("stopped")


@federation.command()
def prepare(
    operator: Annotated[Path, typer.Argument(help="The operator's credential.")],
) -> None:
    """Prepare a nats-server of your own (2.10.25 or later, JetStream on) for the owners; once is enough.

    Example:

        treaty federation prepare federation/operator
    """
    from treaty.federation.nats.authority import Credential
    from treaty.federation.nats.server import prepare as run

    quiet_asyncio()
    asyncio.run(run(Credential.load(operator)))
    console.print("prepared")


@federation.command()
def demo(
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="FOLDER", help="Keep everything it makes.")
    ] = None,
) -> None:
    """Start a server, three owners and a learner on this machine, and train over TLS.

    Three made-up banks; every owner is a process of its own with its own ledger.

    Example:

        treaty federation demo
    """
    from treaty.federation.nats.demo import run_demo

    quiet_asyncio()
    run_demo(keep, lambda text: console.print(text, highlight=False))
