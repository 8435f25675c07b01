"""Impostors: a server without a key, an operator that forges, an owner that decides the model alone."""

import asyncio
import gc
import json
import ssl
import warnings

import pytest

from treaty.errors import TreatyError
from treaty.federation import messages
from treaty.federation.agent import Agent
from treaty.federation.messages import Answer, Query
from treaty.federation.nats import subjects
from treaty.federation.nats.connection import connect
from treaty.terms.names import token
from world import NAMES, World, run, treaty_text, until

LEARNER = token("learner")


class Impostor:
    """Listens where the server should, greets in the clear, and writes down what it hears."""

    def __init__(self, port: int) -> None:
        self.port, self.heard, self.visits = port, b"", 0

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._visit, "127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_):
        self._server.close()

    async def _visit(self, reader, writer):
        greeting = {"server_id": "x", "version": "2.15.1", "max_payload": 1 << 20, "headers": True}
        writer.write(b"INFO " + json.dumps(greeting).encode() + b"\r\n")
        try:
            while data := await asyncio.wait_for(reader.read(1 << 16), 2.0):
                self.heard += data
                writer.write(b"PONG\r\n")
        except (TimeoutError, OSError):
            pass
        finally:
            self.visits += 1
            writer.close()


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def _only_tls(heard: bytes) -> bool:
    """Whether everything is TLS handshakes: records of type 22, or alerts, type 21."""
    return heard[:1] in (b"", b"\x16") and b"CONNECT" not in heard and b"SUB" not in heard


def test_an_impostor_without_a_key_hears_nothing_of_an_owner(world):
    async def visit():
        async with Impostor(world.port) as impostor:
            agent = world.agent(NAMES[0])
            working = asyncio.create_task(agent.run())
            await until(lambda: impostor.visits >= 3)
            agent.stop()
            await working
            return impostor.heard

    heard = run(visit())
    assert heard
    assert _only_tls(heard)


def test_an_impostor_without_a_key_hears_nothing_of_a_learner(world):
    async def visit():
        async with Impostor(world.port) as impostor:
            training = asyncio.create_task(world.training().run())
            await until(lambda: impostor.visits >= 3)
            training.cancel()
            with pytest.raises((asyncio.CancelledError, TreatyError)):
                await training
            return impostor.heard

    heard = run(visit())
    assert heard
    assert _only_tls(heard)


def test_a_cut_connection_comes_back_with_tls_only(world):
    """The server dies, and an impostor takes its port: nothing in the clear is sent to it."""
    world.start()

    async def visit():
        await world.prepare()
        said = []
        agent = world.agent(NAMES[0], said.append)
        working = asyncio.create_task(agent.run())
        await until(lambda: "ready" in said)
        world.stop()
        async with Impostor(world.port) as impostor:
            await until(lambda: impostor.visits >= 3)
        # And when the real one is there again, so is the owner.
        world.start()
        await until(lambda: "the connection is back" in said)
        agent.stop()
        await working
        return impostor.heard

    try:
        assert _only_tls(run(visit()))
    finally:
        world.stop()


def test_a_server_that_is_silent_after_tls_leaves_no_open_connection(world):
    """A server with a good key that does not speak NATS: the attempt is given up and closed at once."""
    folder = world.federation / "server"
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    visits = []

    async def talk(reader, writer):
        visits.append(1)
        await reader.read()
        writer.close()

    async def visit():
        server = await asyncio.start_server(talk, "127.0.0.1", world.port, ssl=context)
        async with server:
            with pytest.raises(TreatyError, match="was not let in or there is no server"):
                await connect(world.credential("operator"), patience=1.0)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(visit())
        gc.collect()
    assert visits
    assert not [str(one.message) for one in caught if one.category is ResourceWarning]


def test_the_server_says_nothing_before_tls_and_speaks_no_older_one(world):
    world.start()

    async def knock():
        await world.prepare()
        reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
        writer.write(b"CONNECT {}\r\nPING\r\n")
        said = await asyncio.wait_for(reader.read(), 30)
        writer.close()
        older = ssl.create_default_context(
            cafile=str(world.credential("learner").folder / "authority.pem")
        )
        older.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises((ssl.SSLError, OSError)):
            await asyncio.open_connection(
                "127.0.0.1", world.port, ssl=older, server_hostname="localhost"
            )
        return said

    try:
        assert b"INFO" not in run(knock())
    finally:
        world.stop()


def _forged(world, run_name="forged", k=1) -> bytes:
    return messages.encode(Query(world.treaty, run_name, k, (0.0, 0.0, 0.0)))


def test_the_operator_can_do_its_task_and_no_more(world):
    """Streams that republish, other streams, deletion, queries and answers: all denied."""
    world.start()
    owner = token(NAMES[0])
    again = {
        "name": "TREATY",
        "subjects": ["treaty.query.*.*"],
        "republish": {"src": ">", "dest": subjects.delivery(owner)},
    }
    forged = {
        "name": "FORGED",
        "subjects": ["_INBOX.forged"],
        "republish": {"src": ">", "dest": subjects.delivery(owner)},
    }
    denied = {
        "$JS.API.STREAM.CREATE.FORGED": forged,
        "$JS.API.STREAM.UPDATE.TREATY": again,
        "$JS.API.STREAM.DELETE.TREATY": {},
        "$JS.API.STREAM.PURGE.TREATY": {},
        f"$JS.API.CONSUMER.DELETE.TREATY.{owner}": {},
        "$JS.API.CONSUMER.CREATE.TREATY.another": {},
        subjects.query(LEARNER, owner): {},
        subjects.delivery(owner): {},
        subjects.answer(LEARNER, owner): {},
        "_INBOX.forged": {},
    }

    async def attack():
        await world.prepare()
        complaints: list[str] = []
        operator = await connect(world.credential("operator"), say=complaints.append)
        async with world.agents(NAMES[0]):
            for subject, body in denied.items():
                data = json.dumps(body).encode() if body else _forged(world)
                await operator.publish(subject, data)
            await operator.flush()
            await until(lambda: len(complaints) >= len(denied))
            # What it may ask for: the stream is there already, and is not made anew as another.
            refused = await operator.request(
                "$JS.API.STREAM.CREATE.TREATY", json.dumps(again).encode()
            )
        await operator.close()
        return complaints, json.loads(refused.data)

    try:
        complaints, refused = run(attack())
    finally:
        world.stop()
    assert all("violation" in text.lower() for text in complaints)
    assert "error" in refused
    assert world.given()[NAMES[0]] == 0


@pytest.mark.parametrize(
    "subject",
    [
        "treaty.for.{owner}",
        "treaty.query.{learner}.{other}",
        "treaty.query.{learner}",
        "treaty.query.{learner}.{owner}.more",
        "treaty.query.stranger-0123456789.{owner}",
        "x.query.{learner}.{owner}",
        "treaty.answer.{learner}.{owner}",
    ],
)
def test_an_owner_answers_only_what_comes_on_the_whole_subject_of_a_query_to_it(world, subject):
    """As a stream that republishes would deliver it, whoever made that."""

    class Message:
        data = _forged(world)

    places = {
        "owner": token(NAMES[0]),
        "other": token(NAMES[1]),
        "learner": LEARNER,
    }
    Message.subject = subject.format(**places)
    sent = []

    async def deliver():
        agent = world.agent(NAMES[0])

        async def send(learner, reply):
            sent.append(reply)

        agent._send = send
        await agent._on_query(agent._channel.letter("query", Message()))
        failure = agent._failure
        agent._home.close()
        return failure

    assert run(deliver()) is None
    assert sent == []
    assert world.given()[NAMES[0]] == 0
    assert "is no query to this owner" in world.refusals(NAMES[0])[0]


class Shouting(Agent):
    """An owner that answers with numbers of a size of its own."""

    size = 1e308

    async def _send(self, learner, reply):
        if isinstance(reply, Answer):
            reply = Answer(reply.treaty, reply.run, reply.round, (self.size, -self.size, self.size))
        await super()._send(learner, reply)


def _with_a_shouting_owner(world, size, **manner):
    async def train():
        await world.prepare()
        hostile = Shouting(world.homes[NAMES[0]], world.channel(NAMES[0]))
        hostile.size = size
        working = asyncio.create_task(hostile.run())
        said = []
        try:
            async with world.agents(*NAMES[1:]):
                training = world.training(**manner)
                training._conductor._say = said.append
                return await training.run(), said
        finally:
            hostile.stop()
            await working

    return train()


@pytest.mark.parametrize("size", [1e308, 1e6, "just too large"])
def test_an_answer_beyond_bound_and_noise_is_refused_and_its_owner_named(tmp_path, size):
    world = World(tmp_path, treaty_text("averaged-subgradient", 4))
    world.start()
    if isinstance(size, str):
        size = 1.001 * world.training(journal="other.journal")._conductor._largest[0]
    try:
        with pytest.raises(TreatyError, match="North Bank refuses round 1: its answer of size"):
            run(_with_a_shouting_owner(world, size))
        model, said = run(_with_a_shouting_owner(world, size, quorum=2, deadline=1.0))
        assert any("North Bank is refused" in text for text in said)
        assert all(abs(value) <= 2.0 for value in model.theta)
    finally:
        world.stop()


def test_in_asynchronous_training_it_is_left_out(tmp_path):
    # So many rounds that the clocks of three owners pass nobody over: (2/3)³⁰ is 5 in a million.
    rounds = 30
    world = World(tmp_path, treaty_text("one-at-a-time", rounds))
    world.start()
    try:
        _, said = run(_with_a_shouting_owner(world, 1e308, deadline=20.0))
        assert any("goes to somebody else than North Bank" in text for text in said)
        assert world.given()[NAMES[1]] + world.given()[NAMES[2]] == rounds
    finally:
        world.stop()
