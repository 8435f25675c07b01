"""Hostile parties: refused, written down, budget untouched."""

import asyncio
import contextlib
import dataclasses
import math
import struct
from datetime import UTC, datetime, timedelta

import msgpack
import pytest

from treaty.errors import TreatyError
from treaty.federation import messages, refusals
from treaty.federation.messages import Answer, Query, Refused
from treaty.federation.nats import subjects
from treaty.federation.nats.authority import Credential, make_federation
from treaty.federation.nats.connection import connect
from treaty.terms import dumps
from treaty.terms.names import token
from world import NAMES, World, run, treaty_text, until

LEARNER = token("learner")
ZERO = (0.0, 0.0, 0.0)


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@pytest.fixture
def asked(world):
    """The agent of the first owner, without a network: bytes in, message out."""
    loop = asyncio.new_event_loop()

    async def make():
        return world.agent(NAMES[0])

    agent = loop.run_until_complete(make())
    yield lambda data, learner=LEARNER: agent.answer(learner, data)
    agent._home.close()
    loop.close()


def _query(world, k=1, theta=ZERO, run="run", treaty=None) -> bytes:
    return messages.encode(Query(treaty or world.treaty, run, k, theta))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"theta": (2.5, 0.0, 0.0)}, "outside Θ"),
        ({"theta": (math.nan, 0.0, 0.0)}, "not a finite number"),
        ({"theta": (math.inf, 0.0, 0.0)}, "not a finite number"),
        ({"theta": (0.0,)}, "1 coordinates, the treaty says 3"),
        ({"theta": (0.0,) * 2000}, "2000 coordinates"),
        ({"k": 0}, "outside the horizon"),
        ({"k": 9}, "round 9 lies outside the horizon 1..8"),
        ({"treaty": "f" * 64}, "not ratified"),
        ({"treaty": "../../etc/passwd"}, "may not ask"),
        ({"treaty": "x"}, "not ratified"),
    ],
)
def test_what_is_not_answered(world, asked, changed, says):
    reply = asked(_query(world, **changed))
    assert isinstance(reply, Refused)
    assert says in reply.reason
    assert world.given()[NAMES[0]] == 0
    assert any(says in reason for reason in world.refusals(NAMES[0]))


def test_denormals_are_numbers(world, asked):
    assert isinstance(asked(_query(world, theta=(5e-324, -5e-324, 0.0))), Answer)


def test_one_question_a_round(world, asked):
    first = asked(_query(world, 1))
    assert isinstance(first, Answer)
    assert asked(_query(world, 1)) == first
    other = asked(_query(world, 1, theta=(0.5, 0.0, 0.0)))
    assert isinstance(other, Refused)
    assert "another theta" in other.reason
    negative = asked(_query(world, 1, theta=(-0.0, 0.0, 0.0)))
    assert negative == first or isinstance(negative, Refused)
    assert world.given()[NAMES[0]] == 1


def test_other_runs_share_the_budget(world, asked):
    """A learner that begins anew and anew gets no more answers than were granted."""
    replies = [asked(_query(world, 1, run=f"run {i}")) for i in range(20)]
    assert sum(isinstance(reply, Answer) for reply in replies) == 8
    assert "budget is spent: 8 of 8" in replies[-1].reason
    assert world.given()[NAMES[0]] == 8


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 100,
        bytes(messages.LONGEST + 1),
        msgpack.packb({"v": 1, "kind": "query"}),
        msgpack.packb(["query"] * 100),
        messages.encode(Answer("t", "r", 1, (1.0,))),
        messages.encode(Refused("t", "r", 1, "no")),
        messages.encode(Query("[/x]\x1b[8m", "r", 1, ZERO)),
    ],
)
def test_what_is_no_query_is_dropped_and_written_down(world, asked, data):
    assert asked(data) is None
    assert len(world.refusals(NAMES[0])) == 1
    assert world.given()[NAMES[0]] == 0


def test_another_learner_may_not_ask_under_this_treaty(world, asked):
    stranger = token(NAMES[1])
    reply = asked(_query(world), stranger)
    assert isinstance(reply, Refused)
    assert "may not ask under treaty" in reply.reason
    peer = asked(_query(world, treaty=f"{world.treaty}/{NAMES[1]}"), stranger)
    assert isinstance(peer, Refused)
    assert "not ratified" in peer.reason
    assert "treaty ratify --peers grants that" in peer.reason
    assert world.given()[NAMES[0]] == 0


def test_a_tampered_treaty_is_not_answered(world, asked):
    file = world.homes[NAMES[0]].folder / "treaties" / f"{world.treaty}.toml"
    loss = world.document.loss.model_copy(update={"theta_max": 1.5})
    file.write_text(dumps(world.document.model_copy(update={"loss": loss})))
    reply = asked(_query(world))
    assert isinstance(reply, Refused)
    assert "tampered" in reply.reason
    assert world.given()[NAMES[0]] == 0


def test_a_policy_made_stricter_holds_for_treaties_ratified_before(world):
    home = world.homes[NAMES[0]]
    text = home.policy_file.read_text().replace("largest_horizon = 10000", "largest_horizon = 5")
    home.policy_file.write_text(text)

    async def ask():
        agent = world.agent(NAMES[0])
        reply = agent.answer(LEARNER, _query(world))
        agent._home.close()
        return reply

    reply = asyncio.run(ask())
    assert isinstance(reply, Refused)
    assert "the policy allows a horizon of 5" in reply.reason


def test_a_flood_neither_fills_the_disk_nor_hides_what_others_are_refused(world, asked):
    """One party's thousand refusals, then another's single one."""
    for k in range(1000):
        asked(_query(world, 100 + k))
    asked(_query(world), token(NAMES[1]))
    written = world.refusals(NAMES[0])
    assert len(written) == refusals.WRITTEN + 2
    assert "more than 100 refusals in an hour" in written[-2]
    assert "may not ask under treaty" in written[-1]


def test_refusals_that_were_only_counted_are_told_in_the_next_hour():
    quota, now = refusals.Refusals(), datetime(2026, 3, 1, tzinfo=UTC)
    what = {"learner": "learner", "reason": "no"}
    kept = [quota.counted(what, now) for _ in range(250)]
    assert sum(one is not None for one in kept) == refusals.WRITTEN + 1
    later = quota.counted(what, now + timedelta(hours=1))
    assert later == {**what, "unwritten_before": 150}
    assert quota.counted(what, now + timedelta(hours=1)) == what


def test_fuzzed_queries_never_spend_more_than_was_granted(world, asked):
    """Random fields in valid frames: an answer, a refusal or nothing, and an unbroken ledger."""
    import random

    dice = random.Random(3)
    numbers = [0.0, -0.0, 1.0, -2.0, 2.0000001, math.nan, math.inf, 5e-324, 1e308, -1e-310]
    for _ in range(300):
        plain = {
            "v": 1,
            "kind": dice.choice(["query", "query", "call", "answer"]),
            "treaty": dice.choice([world.treaty, world.treaty[:-1], world.treaty + "/x", "\x00"]),
            "run": dice.choice(["run", "r" * 512, "\n"]),
            "round": dice.choice([0, 1, 2, 8, 9, (1 << 31) - 1, -1]),
            "theta": b"".join(struct.pack("<d", dice.choice(numbers)) for _ in range(3)),
        }
        if dice.random() < 0.1:
            plain.pop(dice.choice(list(plain)))
        asked(msgpack.packb(plain), dice.choice([LEARNER, LEARNER, "somebody"]))
    assert world.given()[NAMES[0]] <= 8


def test_the_server_holds_everybody_to_their_own_subjects(tmp_path, world):
    """Forged answers, queries in another's name and eavesdropping do not get through."""
    world.start()

    async def attack():
        await world.prepare()
        owner, victim = world.credential(NAMES[0]), world.credential(NAMES[1])
        complaints: list[str] = []
        hostile = await connect(owner, say=complaints.append)
        learner = await connect(world.credential("learner"), say=complaints.append)
        heard: list[str] = []

        async def take(message):
            heard.append(message.subject)

        await learner.subscribe(subjects.answer(LEARNER, "*"), cb=take)
        for subject in (
            subjects.delivery(victim.token),
            subjects.answer(LEARNER, "*"),
            subjects.query("*", victim.token),
            "treaty.>",
            ">",
        ):
            with contextlib.suppress(Exception):
                await hostile.subscribe(subject, cb=take)
        forged = messages.encode(Answer(world.treaty, "run", 1, ZERO))
        for subject in (
            subjects.answer(LEARNER, victim.token),
            subjects.query(LEARNER, victim.token),
            "$JS.API.STREAM.DELETE.TREATY",
            "$JS.API.CONSUMER.DELETE.TREATY." + victim.token,
            "$JS.ACK.TREATY." + owner.token + ".1.1.1.1.1",
            subjects.query(owner.token, "somebody-else"),
        ):
            await hostile.publish(subject, forged)
        # What it may publish must not make the server publish in its place.
        for reply in ("$JS.API.STREAM.DELETE.TREATY", subjects.answer(LEARNER, victim.token)):
            await hostile.publish(subjects.query(owner.token, victim.token), forged, reply=reply)
        await learner.publish(subjects.answer(LEARNER, victim.token), forged)
        await learner.publish("$JS.API.STREAM.PURGE.TREATY", b"")
        await learner.publish(subjects.query(LEARNER, victim.token), _query(world))
        await hostile.flush()
        await learner.flush()
        await until(lambda: sum("violation" in text.lower() for text in complaints) >= 10)
        await hostile.close()
        await learner.close()
        assert heard == []
        # What the stream has kept for the victim: the learner's query, and the other owner's own.
        kept: list[str] = []

        async def keep(message):
            kept.append(message.subject)

        listening = await connect(victim)
        await listening.subscribe(subjects.delivery(victim.token), cb=keep)
        await until(lambda: len(kept) >= 2)
        await listening.flush()
        await listening.close()
        return sorted(kept)

    try:
        kept = run(attack())
    finally:
        world.stop()
    victim, owner = token(NAMES[1]), token(NAMES[0])
    assert kept == sorted([subjects.query(LEARNER, victim), subjects.query(owner, victim)])


def test_an_unregistered_key_is_not_let_in(tmp_path, world):
    make_federation(tmp_path / "others", NAMES, port=world.port)
    stranger = Credential.load(tmp_path / "others" / "learner")
    world.start()
    try:
        run(world.prepare())
        with pytest.raises(TreatyError, match="was not let in or there is no server"):
            asyncio.run(connect(stranger, patience=1.0))
        # One that trusts the right authority and shows the wrong certificate.
        (stranger.folder / "authority.pem").write_bytes(
            (world.credential("learner").folder / "authority.pem").read_bytes()
        )
        with pytest.raises(TreatyError, match="was not let in or there is no server"):
            asyncio.run(connect(stranger, patience=1.0))
        # A certificate of the right authority for a name the server does not know.
        server_key = dataclasses.replace(stranger, folder=world.federation / "server")
        with pytest.raises(TreatyError, match="was not let in or there is no server"):
            asyncio.run(connect(server_key, patience=1.0))
    finally:
        world.stop()


def test_answers_that_are_none_are_dropped_by_the_learner(tmp_path):
    """NaN, wrong length, other runs, garbage: the learner waits for the real one."""
    world = World(tmp_path, treaty_text("averaged-subgradient", 3))
    world.start()

    async def train():
        await world.prepare()
        training = world.training()
        name = training.run_name
        pestered = 0
        hostile = await connect(world.credential(NAMES[0]))
        subject = subjects.answer(LEARNER, token(NAMES[0]))

        async def pester():
            nonlocal pestered
            while True:
                pestered += 1
                for data in (
                    b"garbage",
                    messages.encode(Answer(world.treaty, name, 1, (math.nan, 0.0, 0.0))),
                    messages.encode(Answer(world.treaty, name, 1, (1.0,))),
                    messages.encode(Answer(world.treaty, "another run", 1, ZERO)),
                    messages.encode(Answer("another treaty", name, 1, ZERO)),
                    messages.encode(Answer(world.treaty, name, 99, ZERO)),
                    _query(world),
                ):
                    await hostile.publish(subject, data)
                await asyncio.sleep(0.01)

        pestering = asyncio.create_task(pester())
        working = asyncio.create_task(training.run())
        await until(lambda: training._conductor._awaited is not None)
        before = pestered
        await until(lambda: pestered > before + 20)
        async with world.agents():
            model = await working
        pestering.cancel()
        await hostile.close()
        return model, name

    try:
        model, name = run(train())
    finally:
        world.stop()
    assert model.theta == world.from_ledgers(name)
