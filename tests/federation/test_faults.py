"""Killed with SIGKILL at every step, cut off, slowed down, repeated and out of order."""

import asyncio
import contextlib
import signal
import subprocess
import sys

import pytest

from treaty.federation import messages
from treaty.federation.agent import Agent
from treaty.federation.messages import Answer, Query
from treaty.federation.nats import subjects
from treaty.federation.nats.channel import NatsChannel
from treaty.federation.nats.connection import connect
from treaty.terms.names import token
from world import NAMES, World, run, treaty_text, until

KILLED_AT = """
import os, pathlib, signal, sys
from treaty.federation.agent import Agent
from treaty.logbook import logbook
from treaty.privacy import durable, laplace
mark = pathlib.Path({mark})
seen = 0

def die():
    global seen
    seen += 1
    if seen == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)

def before(owner, name):
    old = getattr(owner, name)
    def new(*args, **more):
        die()
        return old(*args, **more)
    setattr(owner, name, new)

def first(owner, name):
    old = getattr(owner, name)
    async def new(*args, **more):
        die()
        return await old(*args, **more)
    setattr(owner, name, new)

def after(owner, name):
    old = getattr(owner, name)
    async def new(*args, **more):
        result = await old(*args, **more)
        die()
        return result
    setattr(owner, name, new)

{where}
from treaty.cli.main import main
main()
"""
STEPS = {
    "received": 'first(Agent, "_on_query")',
    "before the noise": 'before(laplace.Laplace, "release")',
    "before the transaction": 'before(durable.DurableLedger, "write")',
    "inside the transaction": 'before(logbook.Logbook, "_append")',
    "in the write-ahead file, not in the one file": 'before(durable.DurableLedger, "_settle")',
    "in the one file, not in its mark": 'before(durable.DurableLedger, "_write_mark")',
    "committed, not sent": 'before(Agent, "_send")',
    "sent": 'after(Agent, "_send")',
}


@contextlib.contextmanager
def _world(tmp_path, *arguments):
    world = World(tmp_path, *arguments)
    world.start()
    try:
        yield world
    finally:
        world.stop()


async def _ended(process: "subprocess.Popen[bytes]") -> int:
    await until(lambda: process.poll() is not None)
    return process.returncode


@pytest.mark.parametrize("step", STEPS)
def test_an_owner_killed_at_any_step_spends_and_answers_once(tmp_path, step):
    with _world(tmp_path, treaty_text("averaged-subgradient", 7)) as world:
        mark = tmp_path / "killed"
        script = KILLED_AT.replace("{where}", STEPS[step]).replace("{mark}", repr(str(mark)))
        first = world.owner_process(NAMES[0], script)
        processes = [first]

        async def train():
            await world.prepare()
            async with world.agents(*NAMES[1:]):
                training = asyncio.create_task(world.training().run())
                assert await _ended(first) == -signal.SIGKILL
                assert mark.exists()
                processes.append(world.owner_process(NAMES[0]))
                return await training

        try:
            model = run(train())
        finally:
            for process in processes:
                process.kill()
                process.wait()
        assert world.given() == dict.fromkeys(NAMES, 6)
        assert model.theta == world.from_ledgers(world.training().run_name)


def _learn(world: World) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "treaty", "learn", str(world.folder / "treaty.toml"), "--json"]
    command += ["--credential", str(world.credential("learner").folder)]
    command += ["--model", str(world.folder / "model.json")]
    with (world.folder / "learner.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


@pytest.mark.parametrize("method", ["averaged-subgradient", "one-at-a-time"])
def test_a_learner_killed_again_and_again_goes_on(tmp_path, method):
    from treaty.models import Model

    with _world(tmp_path, treaty_text(method, 300)) as world:
        kills = 0

        async def train():
            nonlocal kills
            await world.prepare()
            async with world.agents():
                for answers in (1, 50, 120):
                    learner = _learn(world)
                    await until(lambda n=answers: sum(map(world.answered, NAMES)) >= n)
                    learner.send_signal(signal.SIGKILL)
                    learner.wait()
                    kills += 1
                assert await _ended(_learn(world)) == 0

        run(train())
        assert kills == 3
        model = Model.load(world.folder / "model.json")
        name = world.training(journal="model.journal").run_name
        assert model.theta == world.from_ledgers(name)
        rounds = 299 if method == "averaged-subgradient" else 300
        owners = 3 if method == "averaged-subgradient" else 1
        assert sum(world.given().values()) == rounds * owners


def test_a_server_killed_in_between_changes_nothing(tmp_path):
    with _world(tmp_path, treaty_text("averaged-subgradient", 200)) as world:

        async def train():
            await world.prepare()
            async with world.agents():
                training = asyncio.create_task(world.training().run())
                for answers in (5, 40, 90):
                    await until(lambda n=answers: world.answered(NAMES[0]) >= n)
                    assert world.server is not None
                    world.server.send_signal(signal.SIGKILL)
                    world.server.wait()
                    world.start()
                return await training

        model = run(train())
        assert world.given() == dict.fromkeys(NAMES, 199)
        assert model.theta == world.from_ledgers(world.training().run_name)


class Weather:
    """A network in between: slow, and cut now and then."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.delay = 0.02
        self._open: set[asyncio.StreamWriter] = set()

    async def start(self) -> int:
        self._server = await asyncio.start_server(self._joined, "127.0.0.1", 0)
        return self._server.sockets[0].getsockname()[1]

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.port)
        self._open |= {writer, back}
        await asyncio.gather(self._carry(reader, back), self._carry(there, writer))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                await asyncio.sleep(self.delay)
                writer.write(data)
                await writer.drain()
        writer.close()
        self._open.discard(writer)

    def cut(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    async def stop(self) -> None:
        self.cut()
        self._server.close()


def test_a_slow_network_that_is_cut_again_and_again(tmp_path):
    from dataclasses import replace

    with _world(tmp_path, treaty_text("averaged-subgradient", 12)) as world:

        async def train():
            await world.prepare()
            weather = Weather(world.port)
            through = f"tls://localhost:{await weather.start()}"
            agents = [
                Agent(
                    world.homes[name], NatsChannel(replace(world.credential(name), server=through))
                )
                for name in NAMES
            ]
            working = [asyncio.create_task(agent.run()) for agent in agents]
            training = asyncio.create_task(world.training().run())
            for answers in (1, 3, 4, 7, 9):
                await until(lambda n=answers: world.answered(NAMES[0]) >= n)
                weather.cut()
            await training
            for agent in agents:
                agent.stop()
            await asyncio.gather(*working)
            await weather.stop()
            return await training

        model = run(train())
        assert world.given() == dict.fromkeys(NAMES, 11)
        assert model.theta == world.from_ledgers(world.training().run_name)


def test_repeated_and_reordered_queries_are_answered_once_each_and_alike(tmp_path):
    with _world(tmp_path) as world:
        owner = NAMES[0]
        queries = [
            messages.encode(Query(world.treaty, "run", k, (0.1 * k, 0.0, 0.0))) for k in (1, 2, 3)
        ]
        order = [2, 0, 2, 1, 0, 0, 1, 2, 1]

        async def ask():
            await world.prepare()
            heard: list[bytes] = []
            async with world.agents(owner):
                learner = world.credential("learner")
                connection = await connect(learner)

                async def take(message):
                    heard.append(message.data)

                await connection.subscribe(subjects.answer(learner.token, "*"), cb=take)
                for n, index in enumerate(order, 1):
                    subject = subjects.query(learner.token, token(owner))
                    await connection.publish(subject, queries[index])
                    await until(lambda n=n: len(heard) >= n)
                await connection.close()
            return heard

        heard = run(ask())
        by_round: dict[int, set[bytes]] = {}
        for data in heard:
            answer = messages.decode(data)
            assert isinstance(answer, Answer)
            by_round.setdefault(answer.round, set()).add(data)
        assert {k: len(v) for k, v in by_round.items()} == {1: 1, 2: 1, 3: 1}
        assert world.given()[owner] == 3


def test_two_agents_of_one_owner_do_not_spend_twice(tmp_path):
    with _world(tmp_path, treaty_text("averaged-subgradient", 40)) as world:

        async def train():
            await world.prepare()
            async with world.agents(*NAMES, NAMES[0]):
                return await world.training().run()

        model = run(train())
        assert world.given() == dict.fromkeys(NAMES, 39)
        assert model.theta == world.from_ledgers(world.training().run_name)
