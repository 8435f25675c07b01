"""A small federation for tests: three owners with generated records, a server, and a learner."""

import asyncio
import contextlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl

from treaty.federation.agent import Agent
from treaty.federation.conductor import Manner
from treaty.federation.nats.authority import Credential, make_federation
from treaty.federation.nats.channel import NatsChannel
from treaty.federation.nats.demo import free_port
from treaty.federation.nats.server import prepare, start_server, stop_server
from treaty.federation.replay import replayed
from treaty.federation.training import FederatedTraining
from treaty.owner import Home
from treaty.plans import Driver, peer_plans
from treaty.terms import dumps, fingerprint, fit, loads, plan_of
from treaty.terms.names import token

LIMIT = 300.0
"""Seconds after which a test that waits for something gives up: generous, for machines under load."""
NAMES = ("North Bank", "River Bank", "Old Bank")
HEAD = """
version = 1
title = "three banks"
[features.a]
kind = "number"
bounds = [-4, 4]
[features.b]
kind = "number"
bounds = [-4, 4]
[target]
column = "y"
bounds = [-8, 8]
[loss]
name = "squared"
theta_max = 2.0
ridge = 1e-3
"""
RECORDS = 300


def treaty_text(method="shrinking-steps", horizon=8, extra="", epsilon=1.0) -> str:
    text = HEAD + f'[training]\nmethod = "{method}"\nhorizon = {horizon}\n{extra}\n'
    return text + "".join(
        f'[[parties]]\nname = "{name}"\nrecords = {RECORDS}\nepsilon = {epsilon}\n'
        for name in NAMES
    )


def write_rows(path: Path, seed: int, count: int = RECORDS) -> Path:
    random = np.random.default_rng(seed)
    a, b = random.standard_normal((2, count))
    y = np.clip(a - 2 * b + 0.1 * random.standard_normal(count), -8, 8)
    pl.DataFrame({"a": np.clip(a, -4, 4), "b": np.clip(b, -4, 4), "y": y}).write_parquet(path)
    return path


async def until(condition, seconds: float = LIMIT) -> None:
    """Wait for what a test needs, however long that takes on a busy machine."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


def run(coroutine, seconds: float = LIMIT):
    return asyncio.run(asyncio.wait_for(coroutine, seconds))


class World:
    """Everything on disk and a running server; owners run as asked.

    Args:
        folder: where.
        text: the treaty.
        peers: whether every owner is a learner.
    """

    def __init__(self, folder: Path, text: str | None = None, *, peers: bool = False) -> None:
        self.folder = folder
        self.document = fit(loads(text or treaty_text()), None)
        self.treaty = fingerprint(self.document)
        self.plan = plan_of(self.document)
        (folder / "treaty.toml").write_text(dumps(self.document))
        self.port = free_port()
        self.federation = make_federation(folder / "federation", NAMES, port=self.port)
        self.homes = {}
        for i, party in enumerate(self.plan.parties):
            data = write_rows(folder / f"{i}.parquet", i)
            home = Home(folder / f"home{i}")
            offer = home.offer(self.document, party.name, party.budget.epsilon, data, peers=peers)
            home.ratify(offer, data)
            self.homes[party.name] = home
        self.server = None

    def credential(self, name: str) -> Credential:
        where = name if name in ("learner", "operator") else f"owners/{token(name)}"
        return Credential.load(self.federation / where)

    def start(self) -> None:
        self.server = start_server(self.federation / "server", log=self.folder / "server.log")

    async def prepare(self) -> None:
        await prepare(self.credential("operator"))

    def stop(self) -> None:
        if self.server is not None:
            stop_server(self.server)

    def channel(self, name: str) -> NatsChannel:
        return NatsChannel(self.credential(name))

    def agent(self, name: str, say=None) -> Agent:
        return Agent(self.homes[name], self.channel(name), say=say)

    @contextlib.asynccontextmanager
    async def agents(self, *names: str):
        running = [self.agent(name) for name in names or NAMES]
        tasks = [asyncio.create_task(agent.run()) for agent in running]
        try:
            yield running
        finally:
            for agent in running:
                agent.stop()
            await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), LIMIT)

    def owner_process(self, name: str, script: str | None = None) -> "subprocess.Popen[bytes]":
        """Start an owner as a process, as the command does or with a script of the test's own."""
        arguments = [
            "owner",
            "--home",
            str(self.homes[name].folder),
            "--credential",
            str(self.credential(name).folder),
        ]
        start = ["-m", "treaty"] if script is None else ["-c", script]
        with (self.folder / "owners.log").open("ab") as log:
            return subprocess.Popen([sys.executable, *start, *arguments], stdout=log, stderr=log)

    def training(self, name="learner", journal="run.journal", **manner) -> FederatedTraining:
        return FederatedTraining(
            self.document,
            self.channel(name),
            self.folder / journal,
            manner=Manner(**{"patience": 0.3, **manner}),
        )

    def given(self, treaty: str | None = None) -> dict[str, int]:
        found = {}
        for name, home in self.homes.items():
            ledger = home.ledger()
            ledger.verify()
            found[name] = ledger.answers_given(treaty or self.treaty)
            ledger.close()
        return found

    def answered(self, name: str) -> int:
        """How many answers an owner has given so far, read from the ledger it is writing."""
        ledger = self.homes[name].ledger()
        try:
            return ledger.answers_given(self.treaty)
        finally:
            ledger.close()

    def refusals(self, name: str) -> list[str]:
        ledger = self.homes[name].ledger()
        found = [e.body["reason"] for e in ledger.events() if e.kind == "refusal"]
        ledger.close()
        return found

    def from_ledgers(self, run: str, treaty: str | None = None, met=None) -> tuple[float, ...]:
        """Train again in this process from what the ledgers hold: the undisturbed run."""
        treaty = treaty or self.treaty
        plan = self.plan
        if "/" in treaty:
            plan = peer_plans(plan)[treaty.partition("/")[2]]
        ledgers = [self.homes[party.name].ledger() for party in plan.parties]
        try:
            return tuple(replayed(Driver(plan), ledgers, treaty, run, met).tolist())
        finally:
            for ledger in ledgers:
                ledger.close()
