"""A federation for the benchmarks: owners with generated records, ratified, and a server with TLS."""

import asyncio
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from treaty.federation.nats.authority import Credential, make_federation
from treaty.federation.nats.channel import NatsChannel
from treaty.federation.nats.demo import free_port
from treaty.federation.nats.server import prepare, start_server, stop_server
from treaty.owner import Home, Policy
from treaty.terms import Treaty, dumps, fingerprint, fit, loads
from treaty.terms.names import token


@dataclass(frozen=True, eq=False)
class Consortium:
    """A federation on disk.

    Args:
        folder: where everything is.
        treaty: the treaty, with its dictionary.
        names: the owners.
    """

    folder: Path
    treaty: Treaty
    names: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """The treaty's."""
        return fingerprint(self.treaty)

    def credential(self, name: str) -> Credential:
        """Return a party's credential."""
        where = name if name in ("learner", "operator") else f"owners/{token(name)}"
        return Credential.load(self.folder / "federation" / where)

    def channel(self, name: str) -> NatsChannel:
        """Return a party's channel."""
        return NatsChannel(self.credential(name))

    def home(self, name: str) -> Home:
        """Return an owner's folder."""
        return Home(self.folder / token(name))

    def start_server(self) -> "subprocess.Popen[bytes]":
        """Start the server."""
        return start_server(self.folder / "federation" / "server", log=self.folder / "server.log")

    def start_owner(self, name: str, log: Path | None = None) -> "subprocess.Popen[bytes]":
        """Start an owner as a process of its own."""
        command = [sys.executable, "-m", "treaty", "owner", "--home", str(self.home(name).folder)]
        command += ["--credential", str(self.credential(name).folder)]
        with (log or self.folder / "owners.log").open("ab") as output:
            return subprocess.Popen(command, stdout=output, stderr=output)


def treaty_text(
    names: tuple[str, ...], records: int, columns: int, loss: str, method: str, horizon: int
) -> str:
    """Return a treaty of owners with as many records each."""
    text = 'version = 1\ntitle = "benchmark"\n'
    for j in range(columns):
        text += f'[features.x{j:02}]\nkind = "number"\nbounds = [-4, 4]\n'
    text += '[target]\ncolumn = "y"\n'
    text += 'labels = ["0", "1"]\n' if loss == "logistic" else "bounds = [-8, 8]\n"
    text += f'[dictionary]\nnorm = "l2"\n[loss]\nname = "{loss}"\ntheta_max = 5.0\nridge = 0.01\n'
    text += f'[training]\nmethod = "{method}"\nhorizon = {horizon}\n'
    for name in names:
        text += f'[[parties]]\nname = "{name}"\nrecords = {records}\nepsilon = 1.0\n'
    return text


def rows(records: int, columns: int, loss: str, seed: int) -> pl.DataFrame:
    """Return generated records."""
    random = np.random.default_rng(seed)
    x = np.clip(random.standard_normal((records, columns)), -4, 4)
    score = x @ np.linspace(-1, 1, columns) + random.standard_normal(records)
    y = (score > 0).astype(int) if loss == "logistic" else np.clip(score, -8, 8)
    return pl.DataFrame({f"x{j:02}": x[:, j] for j in range(columns)} | {"y": y})


@contextlib.contextmanager
def consortium(
    owners: int, records: int, columns: int, loss: str, method: str, horizon: int
) -> Generator[Consortium]:
    """Make a federation, ratified by everybody, in a temporary folder."""
    names = tuple(f"owner {i}" for i in range(owners))
    treaty = fit(loads(treaty_text(names, records, columns, loss, method, horizon)), None)
    with tempfile.TemporaryDirectory() as temporary:
        made = Consortium(Path(temporary), treaty, names)
        (made.folder / "treaty.toml").write_text(dumps(treaty))
        make_federation(made.folder / "federation", names, port=free_port())
        for seed, name in enumerate(names):
            data = made.folder / f"{token(name)}.parquet"
            rows(records, columns, loss, seed).write_parquet(data)
            home = made.home(name)
            home.folder.mkdir()
            Policy(largest_horizon=1_000_000, smallest_records=2).save(home.policy_file)
            home.ratify(home.offer(treaty, name, 1.0, data), data)
        yield made


@contextlib.contextmanager
def served(made: Consortium) -> Generator["subprocess.Popen[bytes]"]:
    """Run a federation's server."""
    server = made.start_server()
    try:
        asyncio.run(prepare(made.credential("operator")))
        yield server
    finally:
        stop_server(server)


@contextlib.contextmanager
def stopped(processes: Callable[[], list["subprocess.Popen[bytes]"]]) -> Generator[None]:
    """Stop processes at the end, whichever there are by then."""
    try:
        yield
    finally:
        for process in processes():
            process.kill()
            process.wait()
