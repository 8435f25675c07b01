"""A federation on one machine: a server, three owners as processes, and a learner, over TLS."""

import asyncio
import contextlib
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import numpy as np
import polars as pl

from treaty.federation.conductor import Manner
from treaty.federation.nats.authority import Credential, make_federation
from treaty.federation.nats.channel import NatsChannel
from treaty.federation.nats.children import start_child
from treaty.federation.nats.server import prepare, start_server, stop_server
from treaty.federation.training import FederatedTraining
from treaty.owner import Home
from treaty.privacy import epsilon_spent
from treaty.terms import dumps, loads
from treaty.terms.names import token

BANKS = {"North Bank": 6_000, "River Bank": 4_000, "Old Bank": 2_500}
TREATY = """
version = 1
title = "Three made-up banks: interest rate from income, debt and term"
[features.income]
kind = "number"
bounds = [1000, 500000]
log1p = true
[features.debt]
kind = "number"
bounds = [0, 60]
[features.term]
kind = "number"
bounds = [12, 72]
[target]
column = "rate"
bounds = [0, 30]
[loss]
name = "squared"
theta_max = 4.0
ridge = 1e-4
[training]
method = "averaged-subgradient"
horizon = 20
"""


def run_demo(keep: Path | None, tell: Callable[[str], None]) -> None:
    """Make three banks, let them ratify, start everything, train, and show every ledger."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) if keep is None else keep
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        document = loads(_treaty())
        (folder / "treaty.toml").write_text(dumps(document))
        federation = make_federation(folder / "federation", list(BANKS), port=port)
        tell(f"A federation on port {port} of this machine: TLS, one certificate a party.")
        for number, (name, records) in enumerate(BANKS.items()):
            file = folder / f"{slug(name)}.parquet"
            _rows(records, number).write_parquet(file)
            home = Home(folder / slug(name))
            offer = home.offer(document, name, 1.0, file)
            if number == 0:
                tell(f"\n{offer.words()}\n")
            home.ratify(offer, file)
            tell(f"{name} ratifies.")
        server = start_server(federation / "server", log=folder / "server.log")
        stack.callback(stop_server, server)
        asyncio.run(prepare(Credential.load(federation / "operator")))
        for name in BANKS:
            stack.enter_context(owner_process(folder, federation, name))
        tell("Server and three owners are running, each a process of its own.")
        last = [""]

        training = FederatedTraining(
            document,
            NatsChannel(Credential.load(federation / "learner")),
            folder / "model.journal",
            manner=Manner(),
            watch=lambda now: last.__setitem__(0, f"round {now.round - 1} of {now.rounds}"),
        )
        model = asyncio.run(training.run())
        model.save(folder / "model.json")
        tell(f"Trained, {last[0]}. θ = {', '.join(f'{value:.3g}' for value in model.theta)}")
        for name in BANKS:
            ledger = Home(folder / slug(name)).ledger()
            grant, given = ledger.grants()[0]
            spent = epsilon_spent(ledger, grant.treaty)
            tell(
                f"{name}'s ledger: {given} of {grant.answers} answers, ε {spent:.3g} of "
                f"{grant.budget.epsilon:g} spent; unbroken up to {ledger.verify()[:16]}"
            )
            ledger.close()
        if keep is not None:
            tell(f"Everything is in {keep}; treaty ledger --home {keep / slug('North Bank')}")


@contextlib.contextmanager
def owner_process(
    folder: Path, federation: Path, name: str
) -> Generator["subprocess.Popen[bytes]"]:
    """Run an owner's agent as a process of its own; it is stopped at the end."""
    command = [sys.executable, "-P", "-m", "treaty", "owner", "--home", str(folder / slug(name))]
    command += ["--credential", str(federation / "owners" / token(name))]
    with (folder / f"{slug(name)}.log").open("ab") as log:
        process = start_child(command, output=log)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def slug(name: str) -> str:
    """Return a name as a file's."""
    return name.lower().replace(" ", "-")


def _treaty() -> str:
    return TREATY + "".join(
        f'[[parties]]\nname = "{name}"\nrecords = {records}\nepsilon = 1.0\n'
        for name, records in BANKS.items()
    )


def _rows(records: int, seed: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    income = np.clip(random.lognormal(10.8, 0.5, records), 1000, 500_000)
    debt = np.clip(random.normal(18, 8, records), 0, 60)
    term = random.choice([12, 24, 36, 60, 72], records)
    rate = 22 - 1.4 * np.log(income) + 0.12 * debt + 0.05 * term + random.normal(0, 2, records)
    return pl.DataFrame(
        {"income": income, "debt": debt, "term": term, "rate": np.clip(rate, 0, 30)}
    )
