"""Live training: 3 owners in processes of their own, TLS, durable ledgers, OpenDP's noise.

`over_floor` is the median time from asking an owner to having its answer, over what that cannot do
without: a bare NATS round trip over the same TLS server, one SQLite commit that is on the disk, and the
gradient, all measured in the same run. Logistic loss, 100,000 records of 30 columns among the owners.
"""

import asyncio
import os
import sqlite3
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from nats.aio.msg import Msg

from bench.consortium import Consortium, consortium, served, stopped
from bench.report import finish
from treaty.federation import messages
from treaty.federation.conductor import Manner
from treaty.federation.messages import Query
from treaty.federation.nats import subjects
from treaty.federation.nats.authority import Credential
from treaty.federation.nats.connection import connect
from treaty.federation.training import FederatedTraining
from treaty.records import open_source
from treaty.terms import encoder_of, plan_of
from treaty.terms.names import token

OWNERS, RECORDS, COLUMNS, HORIZON = 3, 33_334, 30, 1000
ASKED = 300


async def echo(credential: Credential) -> None:
    """Give back what comes: the other side of a bare round trip."""
    connection = await connect(credential)
    me = credential.token

    async def back(message: Msg) -> None:
        await connection.publish(subjects.ready(token("learner"), me), message.data)

    await connection.subscribe(subjects.call("*"), cb=back)
    await connection.flush()
    await asyncio.sleep(3600)


class Bare:
    """A round trip through a server of the same kind, to another process, with nothing behind it."""

    def __init__(self, made: Consortium) -> None:
        self._credential = made.credential("learner")
        self._arrived: asyncio.Queue[bytes] = asyncio.Queue()

    async def start(self) -> None:
        """Connect, and wait until the other process is there."""
        self._connection = await connect(self._credential)

        async def take(message: Msg) -> None:
            await self._arrived.put(message.data)

        await self._connection.subscribe(subjects.ready(self._credential.token, "*"), cb=take)
        while self._arrived.empty():
            await self._say()
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.5)
        while not self._arrived.empty():
            self._arrived.get_nowait()

    async def _say(self) -> None:
        payload = os.urandom(COLUMNS * 8 + 150)
        await self._connection.publish(subjects.call(self._credential.token), payload)

    async def once(self) -> float:
        """Return the seconds it takes."""
        began = time.perf_counter()
        await self._say()
        await self._arrived.get()
        return time.perf_counter() - began

    async def stop(self) -> None:
        """Close the connection."""
        await self._connection.close()


async def answered_queries(made: Consortium, beside: Consortium) -> dict[str, float]:
    """Measure the time from asking an owner to its answer, ledger and noise included.

    After each, once, what it cannot do without, in a process that has just been waiting as the owner's
    had: a loop of nothing else would find its caches warm and be twice as fast.
    """
    learner = made.credential("learner")
    connection = await connect(learner)
    arrived: asyncio.Queue[bytes] = asyncio.Queue()

    async def take(message: Msg) -> None:
        await arrived.put(message.data)

    await connection.subscribe(subjects.answer(learner.token, "*"), cb=take)
    await connection.flush()
    random, dimension = np.random.default_rng(0), plan_of(made.treaty).problem.dimension

    async def ask(k: int, owner: str) -> float:
        theta = tuple(random.uniform(-1, 1, dimension).tolist())
        data = messages.encode(Query(made.fingerprint, "round trips", k, theta))
        began = time.perf_counter()
        await connection.publish(subjects.query(learner.token, token(owner)), data)
        reply = messages.decode(await asyncio.wait_for(arrived.get(), 60))
        if not isinstance(reply, messages.Answer):
            raise SystemExit(f"not answered: {reply}")
        return time.perf_counter() - began

    for owner in made.names:
        await ask(1, owner)
    await asyncio.sleep(1.0)
    commit, gradient = Commit(made.folder), Gradient(made)
    bare = Bare(beside)
    await bare.start()
    times: dict[str, list[float]] = {"asked": [], "bare": [], "commit": [], "gradient": []}
    for k in range(2, ASKED + 2):
        times["asked"].append(await ask(k, made.names[0]))
        times["commit"].append(commit.once())
        times["gradient"].append(gradient.once())
        times["bare"].append(await bare.once())
    await bare.stop()
    await connection.close()
    return {name: statistics.median(taken) for name, taken in times.items()}


async def awake(made: Consortium) -> None:
    """Wait until every owner answers."""
    learner = made.credential("learner")
    connection = await connect(learner)
    there: set[str] = set()

    async def take(message: Msg) -> None:
        there.add(subjects.getting_ready(message.subject, learner.token) or "")

    await connection.subscribe(subjects.ready(learner.token, "*"), cb=take)
    while len(there) < len(made.names):
        call = messages.Call(made.fingerprint, "awake", 1, "broadcast")
        await connection.publish(subjects.call(learner.token), messages.encode(call))
        await asyncio.sleep(0.1)
    await connection.close()


class Commit:
    """One small SQLite transaction that is on the disk when it returns."""

    def __init__(self, folder: Path) -> None:
        self._database = sqlite3.connect(folder / "floor.sqlite", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.execute("CREATE TABLE answers(k INTEGER PRIMARY KEY, body BLOB)")

    def once(self) -> float:
        """Return the seconds it takes."""
        body = os.urandom(COLUMNS * 22)
        began = time.perf_counter()
        self._database.execute("BEGIN IMMEDIATE")
        self._database.execute("INSERT INTO answers(body) VALUES (?)", (body,))
        self._database.execute("COMMIT")
        return time.perf_counter() - began


class Gradient:
    """The gradient of one owner's records."""

    def __init__(self, made: Consortium) -> None:
        plan = plan_of(made.treaty)
        source = open_source(made.folder / f"{token(made.names[0])}.parquet")
        self._risk, _ = encoder_of(made.treaty).risk(plan.problem.loss, source)
        self._random = np.random.default_rng(0)

    def once(self) -> float:
        """Return the seconds it takes."""
        theta = self._random.uniform(-1, 1, self._risk.dimension)
        began = time.perf_counter()
        self._risk.gradient(theta)
        return time.perf_counter() - began


def trained(made: Consortium) -> tuple[float, int]:
    """Train to the end; return the seconds and the number of answers."""
    training = FederatedTraining(
        made.treaty, made.channel("learner"), made.folder / "run.journal", manner=Manner()
    )
    began = time.perf_counter()
    asyncio.run(training.run())
    assert training.ending is not None
    return time.perf_counter() - began, sum(training.ending.given.values())


def main() -> None:
    if len(sys.argv) > 1:
        asyncio.run(echo(Credential.load(sys.argv[1])))
        return
    processes: list[subprocess.Popen[bytes]] = []
    shape = (OWNERS, RECORDS, COLUMNS, "logistic")
    with (
        consortium(*shape, "one-at-a-time", HORIZON) as made,
        consortium(1, 100, 2, "logistic", "one-at-a-time", 1) as beside,
        served(made),
        served(beside),
        stopped(lambda: processes),
    ):
        other = str(beside.credential(beside.names[0]).folder)
        processes.append(subprocess.Popen([sys.executable, "-m", "bench.live", other]))
        processes += [made.start_owner(name) for name in made.names]
        asked = asyncio.run(answered_queries(made, beside))
        seconds, answers = trained(made)
    processes.clear()
    with (
        consortium(*shape, "averaged-subgradient", 201) as made,
        served(made),
        stopped(lambda: processes),
    ):
        processes += [made.start_owner(name) for name in made.names]
        asyncio.run(awake(made))
        synchronous, all_answers = trained(made)
    floor = asked["bare"] + asked["commit"] + asked["gradient"]
    print(
        f"round trip {asked['asked'] * 1e3:.2f} ms; floor {floor * 1e3:.2f} ms: bare network "
        f"{asked['bare'] * 1e3:.2f}, commit {asked['commit'] * 1e3:.2f}, "
        f"gradient {asked['gradient'] * 1e3:.2f}"
    )
    finish(
        over_floor=round(asked["asked"] / floor, 2),
        round_trip_ms=round(asked["asked"] * 1e3, 2),
        floor_ms=round(floor * 1e3, 2),
        queries_per_second=round(all_answers / synchronous, 1),
        seconds_async=round(seconds, 1),
        answers_async=answers,
    )


if __name__ == "__main__":
    main()
