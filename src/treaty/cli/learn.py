"""treaty learn: train over a federation."""

import asyncio
import signal
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from treaty.cli.options import CredentialFolder, Json, OwnLosses, Public, TreatyFile
from treaty.cli.output import (
    check_writable,
    console,
    plain_epsilons,
    print_json,
    quiet_asyncio,
    table,
)
from treaty.errors import TreatyError
from treaty.views import epsilon_text

if TYPE_CHECKING:
    from treaty.federation.conductor import Snapshot
    from treaty.federation.training import FederatedTraining
    from treaty.models import Model


def learn(
    treaty: TreatyFile,
    credential: CredentialFolder,
    public: Public = None,
    model: Annotated[
        Path, typer.Option("--model", metavar="FILE", help="Where the model goes, as JSON.")
    ] = Path("model.json"),
    journal: Annotated[
        Path | None,
        typer.Option("--journal", metavar="FILE", help="The run; one that exists is gone on with."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Begin a second run although one has begun here.")
    ] = False,
    meet: Annotated[
        str,
        typer.Option("--meet", help="Asynchronous: broadcast (call every round) or request."),
    ] = "broadcast",
    quorum: Annotated[
        int | None,
        typer.Option(
            "--quorum", help="Synchronous: so many answers are enough after the deadline."
        ),
    ] = None,
    deadline: Annotated[
        float, typer.Option("--deadline", min=0.1, help="Seconds after which a quorum is enough.")
    ] = 60.0,
    loss: OwnLosses = None,
    as_json: Json = False,
) -> None:
    """Train with owners on other machines; stop it, and the same command goes on where it was.

    The run is the journal beside the model: another name for either would be another run.

    With an owner's own credential that owner is the learner, for a model of its own (peers).

    Example, with a server (treaty federation serve) and the owners' agents (treaty owner) running:

        treaty learn banks/treaty.toml --credential banks/federation/learner --model model.json
    """
    import treaty as t
    from treaty.federation.conductor import Manner
    from treaty.federation.journal import begun_elsewhere
    from treaty.federation.nats.authority import Credential
    from treaty.federation.nats.channel import NatsChannel
    from treaty.federation.training import FederatedTraining
    from treaty.terms import fit
    from treaty.terms.names import LEARNER

    quiet_asyncio()
    if meet not in ("broadcast", "request"):
        raise TreatyError(f'--meet is "broadcast" or "request", not "{meet}"')
    check_writable(model)
    journal = model.with_suffix(".journal") if journal is None else journal
    check_writable(journal)
    document = t.load(treaty)
    channel = NatsChannel(Credential.load(credential))
    own = "" if channel.name == LEARNER else f"/{channel.name}"
    run_of = t.fingerprint(fit(document, None)) + own
    begun = None if again else begun_elsewhere(journal, run_of)
    if begun is not None:
        raise TreatyError(
            f"{begun}: a run under this treaty has begun already. Go on with it by --journal "
            f"{begun.name}; a second one asks for budgets that the first may have spent, and --again "
            "begins it"
        )
    with _Screen(quiet=as_json) as screen:
        training = screen.training = FederatedTraining(
            document,
            channel,
            journal,
            public,
            manner=Manner(meeting=meet, quorum=quorum, deadline=deadline),
            watch=screen.watch,
            say=screen.say,
        )
        try:
            trained = asyncio.run(_until_stopped(training))
        except asyncio.CancelledError:
            raise TreatyError(
                f"stopped; the same command goes on from {journal}, and nothing is asked twice"
            ) from None
    trained.save(model)
    if as_json:
        print_json(_plain(training, trained), private=False)
        return
    _print_ending(training)
    console.print(f"The model is in {model}, the run in {journal}.", highlight=False)


class _Screen:
    """What a person sees while a training goes on: a table that changes, and lines below."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._said: list[str] = []
        self._live = Live(
            console=Console(stderr=True, markup=False), transient=True, auto_refresh=False
        )
        self.training: FederatedTraining | None = None

    def __enter__(self) -> "_Screen":
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def say(self, text: str) -> None:
        """Show a line."""
        self._said.append(text)
        if not self._quiet:
            self._live.console.print(Text(text), style="dim")

    def watch(self, snapshot: "Snapshot") -> None:
        """Show how far the training is."""
        if not self._quiet and self.training is not None:
            self._live.update(_shown(self.training, snapshot, self._said), refresh=True)


async def _until_stopped(training: "FederatedTraining") -> "Model":
    """Train; a signal to stop cancels it."""
    task = asyncio.ensure_future(training.run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    return await task


def _plain(training: "FederatedTraining", trained: "Model") -> dict[str, Any]:
    ending = training.ending
    assert ending is not None
    return {
        "treaty": training.treaty,
        "run": training.run_name,
        "answers": ending.given,
        "epsilon_spent": plain_epsilons(training.spent()),
        "ended_early": ending.ended_early,
        "fitness_on_public_rows": training.fitness(ending.theta),
        "theta": list(trained.theta),
    }


def _print_ending(training: "FederatedTraining") -> None:
    ending = training.ending
    assert ending is not None
    shown = table("Trained together", "owner", "answers", "ε spent")
    for name, spent in training.spent().items():
        shown.add_row(name, f"{ending.given[name]:,}", epsilon_text(spent))
    console.print(shown)
    if ending.ended_early:
        console.print("Nobody had an answer left before the last round.")


def _shown(training: "FederatedTraining", snapshot: "Snapshot", said: list[str]) -> Table:
    value = training.fitness(snapshot.model)
    title = f"round {min(snapshot.round, snapshot.rounds):,} of {snapshot.rounds:,}"
    if value is not None:
        title += f", f on the public rows {value:.5g}"
    shown = table(title, "owner", "answers", "")
    for name, given in snapshot.given.items():
        awaited = "awaited" if name in snapshot.waiting else ""
        shown.add_row(name, f"{given:,} of {training.granted[name]:,}", awaited)
    shown.caption = said[-1] if said else None
    return shown
