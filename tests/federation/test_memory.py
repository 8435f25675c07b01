"""Rounds over a channel that needs no network: the same learner, agents and ledgers."""

import asyncio

import pytest

from treaty.errors import TreatyError
from treaty.federation import messages
from treaty.federation.agent import Agent
from treaty.federation.channel import Letter, Unsent
from treaty.federation.conductor import Manner
from treaty.federation.memory import Switchboard
from treaty.federation.messages import Query
from treaty.federation.replay import replayed
from treaty.federation.training import FederatedTraining
from treaty.owner import Home
from treaty.plans import Driver
from treaty.terms import fingerprint, fit, loads, plan_of
from treaty.terms.names import LEARNER, token
from world import NAMES, run, treaty_text, until, write_rows


class Table:
    """Three owners and a learner around one switchboard."""

    def __init__(self, folder, text):
        self.folder = folder
        self.document = fit(loads(text), None)
        self.plan, self.treaty = plan_of(self.document), fingerprint(self.document)
        self.board = Switchboard()
        self.homes = {}
        for i, party in enumerate(self.plan.parties):
            data = write_rows(folder / f"{i}.parquet", i)
            home = Home(folder / f"home{i}")
            home.ratify(home.offer(self.document, party.name, 1.0, data), data)
            self.homes[party.name] = home

    def agent(self, name, say=None):
        return Agent(self.homes[name], self.board.channel(name, (LEARNER, *NAMES)), say=say)

    def training(self, name=LEARNER, say=None, **manner):
        channel = self.board.channel(name, NAMES)
        manner = Manner(**{"patience": 0.2, **manner})
        journal = self.folder / "run.journal"
        return FederatedTraining(self.document, channel, journal, manner=manner, say=say)

    async def trained(self, training, *names):
        agents = [self.agent(name) for name in names or NAMES]
        working = [asyncio.create_task(agent.run()) for agent in agents]
        try:
            return await training.run()
        finally:
            for agent in agents:
                agent.stop()
            await asyncio.gather(*working)

    def replayed(self, name, met=None):
        ledgers = [self.homes[party.name].ledger() for party in self.plan.parties]
        try:
            return tuple(replayed(Driver(self.plan), ledgers, self.treaty, name, met).tolist())
        finally:
            for ledger in ledgers:
                ledger.close()


@pytest.mark.parametrize(
    ("method", "horizon", "rounds"),
    [("averaged-subgradient", 6, 5), ("one-shot", 1, 1), ("one-at-a-time", 9, 9)],
)
def test_a_training_without_a_network(tmp_path, method, horizon, rounds):
    table = Table(tmp_path, treaty_text(method, horizon))
    training = table.training()
    model = run(table.trained(training))
    given = training.ending.given
    assert sum(given.values()) == (rounds if method == "one-at-a-time" else 3 * rounds)
    if method != "one-at-a-time":
        assert model.theta == table.replayed(training.run_name)
    for name, home in table.homes.items():
        ledger = home.ledger()
        ledger.verify()
        assert ledger.answers_given(table.treaty) == given[name]
        ledger.close()


def test_moments_are_asked_once_written_down_and_never_again(tmp_path):
    """The ledger of a one-shot training says what was asked, and holds one answer of all moments."""
    table = Table(tmp_path, treaty_text("one-shot", 1))
    training = table.training()
    run(table.trained(training))
    ledger = table.homes[NAMES[0]].ledger()
    entry = ledger.entry(table.treaty, training.run_name, 1)
    assert (entry.question, entry.theta, len(entry.answer)) == ("moments", (), 9)
    body = next(event.body for event in ledger.events() if event.kind == "answer")
    assert body["question"] == "moments"
    ledger.close()
    (tmp_path / "run.journal").rename(tmp_path / "before.journal")
    with pytest.raises(TreatyError, match=r"refuses round 1: .* budget is spent"):
        run(table.trained(table.training()))


def test_the_entry_of_a_gradient_is_written_as_ever(tmp_path):
    table = Table(tmp_path, treaty_text("averaged-subgradient", 3))
    run(table.trained(table.training()))
    ledger = table.homes[NAMES[0]].ledger()
    body = next(event.body for event in ledger.events() if event.kind == "answer")
    ledger.close()
    assert set(body) == {"treaty", "run", "round", "theta", "answer", "event"}


def test_a_query_is_kept_until_its_owner_comes(tmp_path):
    table = Table(tmp_path, treaty_text("averaged-subgradient", 4))

    async def late():
        training = table.training(patience=60.0)
        working = asyncio.create_task(table.trained(training, *NAMES[:2]))
        await until(lambda: any(letter.kind == "answer" for letter in table.board.carried))
        last = table.agent(NAMES[2])
        answering = asyncio.create_task(last.run())
        model = await working
        last.stop()
        await answering
        return training, model

    training, model = run(late())
    assert model.theta == table.replayed(training.run_name)


def test_what_is_lost_is_asked_again_and_answered_once(tmp_path):
    table = Table(tmp_path, treaty_text("averaged-subgradient", 4))
    carry, dropped = table.board.carry, []

    def forgetful(letter):
        if letter.kind == "answer" and len(dropped) < 3:
            dropped.append(letter)
            return
        carry(letter)

    table.board.carry = forgetful
    training = table.training()
    model = run(table.trained(training))
    assert len(dropped) == 3
    assert set(training.ending.given.values()) == {3}
    assert model.theta == table.replayed(training.run_name)


def test_nobody_speaks_for_another(tmp_path):
    """A letter is from whose channel it comes, whatever it says; a stranger is refused."""
    table = Table(tmp_path, treaty_text("averaged-subgradient", 4))
    query = messages.encode(Query(table.treaty, "r", 1, (0.0, 0.0, 0.0)))

    async def forge():
        said = []
        agent = table.agent(NAMES[0], said.append)
        working = asyncio.create_task(agent.run())
        await until(lambda: said)
        for who in (NAMES[1], "Somebody Else"):
            hostile = table.board.channel(who, NAMES)
            await hostile.send(Letter("query", token(LEARNER), token(NAMES[0]), query))
        await until(lambda: len(said) >= 3)
        hostile.cut = True
        with pytest.raises(Unsent):
            await hostile.send(Letter("query", token(LEARNER), token(NAMES[0]), query))
        agent.stop()
        await working
        return said

    said = run(forge())
    assert "may not ask under treaty" in said[1]
    assert "is no query to this owner" in said[2]
    ledger = table.homes[NAMES[0]].ledger()
    assert ledger.answers_given(table.treaty) == 0
    ledger.close()


def test_a_channel_of_another_name_is_refused(tmp_path):
    table = Table(tmp_path, treaty_text())
    with pytest.raises(TreatyError, match=r"River Bank's, and .* is North Bank's"):
        Agent(table.homes[NAMES[0]], table.board.channel(NAMES[1], (LEARNER,)))
    channel = table.board.channel(LEARNER, NAMES[:2])
    with pytest.raises(TreatyError, match="Old Bank is not in this federation"):
        FederatedTraining(table.document, channel, tmp_path / "other.journal")


def test_a_failure_while_the_channel_opens_is_not_swallowed(tmp_path):
    """A query that waited is handed over before the channel says that it is open."""
    table = Table(tmp_path, treaty_text("averaged-subgradient", 4))
    query = messages.encode(Query(table.treaty, "r", 1, (0.0, 0.0, 0.0)))

    async def open_slowly():
        agent = table.agent(NAMES[0])
        opening = agent._channel.open

        async def slowly(hear, **more):
            await opening(hear, **more)
            await asyncio.sleep(0.3)

        agent._channel.open = slowly
        write_rows(tmp_path / "0.parquet", 99)
        learner = table.board.channel(LEARNER, NAMES)
        await learner.send(Letter("query", token(LEARNER), token(NAMES[0]), query))
        await agent.run()

    with pytest.raises(TreatyError, match="records have changed"):
        run(open_slowly())


def test_one_shot_takes_no_quorum(tmp_path):
    table = Table(tmp_path, treaty_text("one-shot", 1))
    with pytest.raises(TreatyError, match="needs everybody's answer"):
        table.training(quorum=2)
