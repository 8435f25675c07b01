"""Trainings over a real server with TLS: synchronous, asynchronous both ways, peers, quorum, away."""

import asyncio
import contextlib
from dataclasses import replace

import pytest

from treaty.errors import TreatyError
from treaty.owner import Home
from world import NAMES, World, run, treaty_text, until, write_rows


@contextlib.contextmanager
def _world(tmp_path, *arguments, **more):
    world = World(tmp_path, *arguments, **more)
    world.start()
    try:
        yield world
    finally:
        world.stop()


@pytest.mark.parametrize(
    ("method", "meeting"),
    [
        ("shrinking-steps", "broadcast"),
        ("averaged-subgradient", "broadcast"),
        ("one-at-a-time", "broadcast"),
        ("one-at-a-time", "request"),
    ],
)
def test_the_model_is_that_of_the_answers_in_the_ledgers(tmp_path, method, meeting):
    with _world(tmp_path, treaty_text(method, 12)) as world:

        async def train():
            await world.prepare()
            async with world.agents():
                return await world.training(meeting=meeting).run()

        model = run(train())
        given = world.given()
        training = world.training()
        assert model.theta == world.from_ledgers(training.run_name)
        rounds = 11 if method == "averaged-subgradient" else 12
        if method == "shrinking-steps":
            rounds = given[NAMES[0]]
        if method == "one-at-a-time":
            assert sum(given.values()) == 12
        else:
            assert set(given.values()) == {rounds}
        again = run(training.run())
        assert again.theta == model.theta
        assert world.given() == given


def test_moments_are_asked_once_over_the_network(tmp_path):
    with _world(tmp_path, treaty_text("one-shot", 1)) as world:

        async def train():
            await world.prepare()
            async with world.agents():
                return await world.training().run()

        model = run(train())
        assert set(world.given().values()) == {1}
        assert model.theta == world.from_ledgers(world.training().run_name)


def test_owners_that_talk_as_blocs(tmp_path):
    extra = f'blocs = [["{NAMES[0]}", "{NAMES[1]}"]]'
    with _world(tmp_path, treaty_text("one-at-a-time", 10, extra)) as world:

        async def train():
            await world.prepare()
            async with world.agents():
                return await world.training(meeting="request").run()

        model = run(train())
        given = world.given()
        assert given[NAMES[0]] == given[NAMES[1]]
        assert given[NAMES[0]] + given[NAMES[2]] == 10
        assert model.theta == world.from_ledgers(world.training().run_name)


def test_peers_train_a_model_each_and_share_their_budgets_out(tmp_path):
    with _world(tmp_path, treaty_text("averaged-subgradient", 5), peers=True) as world:

        async def train():
            await world.prepare()
            async with world.agents():
                return await asyncio.gather(
                    *(world.training(n, journal=f"{n}.journal").run() for n in NAMES[:2])
                )

        models = run(train())
        for name, model in zip(NAMES[:2], models, strict=True):
            treaty = f"{world.treaty}/{name}"
            assert set(world.given(treaty).values()) == {4}
            name_of_run = world.training(name, journal=f"{name}.journal").run_name
            assert model.theta == world.from_ledgers(name_of_run, treaty)
        ledger = world.homes[NAMES[0]].ledger()
        assert float(ledger.committed()[0]) == pytest.approx(1.0)
        assert float(ledger.charged()) == pytest.approx(2 * 4 / 5 / 3)
        ledger.close()


def test_a_query_waits_for_an_owner_that_is_away(tmp_path):
    with _world(tmp_path) as world:

        async def train():
            await world.prepare()
            async with world.agents(*NAMES[:2]):
                training = asyncio.create_task(world.training(patience=3600.0).run())
                await until(lambda: all(world.answered(name) == 1 for name in NAMES[:2]))
                assert not training.done()
                async with world.agents(NAMES[2]):
                    return await training

        model = run(train())
        assert model.theta == world.from_ledgers(world.training().run_name)


def test_a_quorum_is_enough_after_the_deadline(tmp_path):
    with _world(tmp_path, treaty_text("averaged-subgradient", 4)) as world:

        async def train():
            await world.prepare()
            async with world.agents(*NAMES[:2]):
                return await world.training(quorum=2, deadline=0.5).run()

        model = run(train())
        assert world.given() == {NAMES[0]: 3, NAMES[1]: 3, NAMES[2]: 0}
        assert model.theta == world.from_ledgers(world.training().run_name)
    with pytest.raises(TreatyError, match="`quorum` must be between 1 and 3"):
        world.training(journal="another.journal", quorum=9)


def test_a_refusal_ends_a_training_that_needs_everybody(tmp_path):
    with _world(tmp_path) as world:
        ledger = world.homes[NAMES[1]].ledger()
        ledger.revoke(world.treaty)
        ledger.close()

        async def train():
            await world.prepare()
            async with world.agents():
                await world.training().run()

        with pytest.raises(TreatyError, match=r"River Bank refuses round 1: .* revoked"):
            run(train())
        assert world.given()[NAMES[1]] == 0
        assert any("revoked" in reason for reason in world.refusals(NAMES[1]))


def test_a_refusal_ends_a_training_at_once_although_others_are_away(tmp_path):
    """Whoever comes back later would spend budget on a run that cannot end."""
    with _world(tmp_path) as world:
        ledger = world.homes[NAMES[1]].ledger()
        ledger.revoke(world.treaty)
        ledger.close()

        async def train():
            await world.prepare()
            async with world.agents(*NAMES[:2]):
                await world.training().run()

        with pytest.raises(TreatyError, match="River Bank refuses round 1"):
            run(train(), 60.0)
        assert world.given()[NAMES[2]] == 0


def test_an_asynchronous_training_ends_when_nobody_has_an_answer_left(tmp_path):
    text = treaty_text("one-at-a-time", 20).replace("epsilon = 1.0", "epsilon = 1.0\nanswers = 2")
    with _world(tmp_path, text) as world:

        async def train():
            await world.prepare()
            async with world.agents():
                training = world.training()
                await training.run()
                return training.ending

        outcome = run(train())
        assert outcome.ended_early
        assert world.given() == dict.fromkeys(NAMES, 2)


def test_an_owner_that_refuses_does_not_hold_the_others_up(tmp_path):
    """Revoked after it was met: the round is another's, now and after a restart."""
    with _world(tmp_path, treaty_text("one-at-a-time", 6)) as world:

        async def train():
            await world.prepare()
            async with world.agents() as agents:
                refusing = agents[0]
                refusing._willing = lambda learner, call: True
                ledger = world.homes[NAMES[0]].ledger()
                refusing._home.owner(world.treaty, world.credential("learner").token)
                ledger.revoke(world.treaty)
                ledger.close()
                return await world.training(deadline=20.0).run()

        run(train())
        given = world.given()
        assert given[NAMES[0]] == 0
        assert sum(given.values()) == 6


def test_an_owner_that_only_says_it_is_ready_is_left_alone(tmp_path):
    with _world(tmp_path, treaty_text("one-at-a-time", 6)) as world:

        async def train():
            await world.prepare()
            async with world.agents() as agents:

                async def silent(learner, reply):
                    return None

                agents[0]._send = silent
                agents[0]._home.policy = agents[0]._home.policy.model_copy(
                    update={"mean_pause": 1e-6}
                )
                return await world.training(deadline=4.0).run()

        run(train())
        given = world.given()
        assert given[NAMES[0]] <= 2
        assert given[NAMES[1]] + given[NAMES[2]] == 6


def test_an_answer_that_comes_just_in_time_is_not_thrown_away(tmp_path):
    """Spent is spent: however short the deadline, an answer that is there is used."""
    with _world(tmp_path, treaty_text("one-at-a-time", 6)) as world:

        async def train():
            await world.prepare()
            async with world.agents():
                training = world.training(deadline=5.0)
                conductor = training._conductor
                heard = conductor._hear

                async def late(letter):
                    await heard(letter)
                    if letter.kind != "answer":
                        return
                    # The round's answer is in, and its time is over before anybody looks.
                    conductor._manner = replace(conductor._manner, deadline=0.0)
                    asyncio.get_running_loop().call_later(
                        0.02, lambda: setattr(conductor, "_manner", manner)
                    )

                manner = conductor._manner
                conductor._hear = late
                return await training.run()

        run(train())
        assert sum(world.given().values()) == 6


def test_when_everybody_refuses_it_is_said(tmp_path):
    with _world(tmp_path, treaty_text("one-at-a-time", 6)) as world:

        async def train():
            await world.prepare()
            async with world.agents() as agents:
                for agent in agents:
                    agent._willing = lambda learner, call, agent=agent: True
                    agent._home.owner(world.treaty, world.credential("learner").token)
                for home in world.homes.values():
                    ledger = home.ledger()
                    ledger.revoke(world.treaty)
                    ledger.close()
                await world.training(deadline=20.0).run()

        with pytest.raises(TreatyError, match=r"refuses: .* revoked"):
            run(train())


def test_an_agent_can_be_stopped_while_there_is_no_server(tmp_path):
    world = World(tmp_path)

    async def wait():
        said = []
        agent = world.agent(NAMES[0], said.append)
        working = asyncio.create_task(agent.run())
        await until(lambda: any("cannot be reached" in text for text in said))
        agent.stop()
        await working

    run(wait())


def test_an_owner_that_leaves_does_not_hold_the_others_up(tmp_path):
    """Asked and gone before it answered: after the deadline the round is another's."""
    with _world(tmp_path, treaty_text("one-at-a-time", 10)) as world:

        async def train():
            await world.prepare()
            left = world.agent(NAMES[0])

            async def silent(learner, reply):
                left.stop()

            left._send = silent
            working = asyncio.create_task(left.run())
            training = asyncio.create_task(world.training(deadline=4.0).run())
            await until(left._stopped.is_set)
            await working
            async with world.agents(*NAMES[1:]):
                return await training

        model = run(train())
        training = world.training()
        met = {past.number: past.bloc for past in training._journal.rounds()}
        assert model.theta == world.from_ledgers(training.run_name, met=met)
        assert world.given()[NAMES[0]] == 1
        assert sum(world.given().values()) == 11


def test_a_policy_that_allows_few_answers_an_hour_makes_queries_wait(tmp_path):
    with _world(tmp_path, treaty_text("averaged-subgradient", 8)) as world:
        home = world.homes[NAMES[0]]
        text = home.policy_file.read_text().replace(
            "answers_per_hour = 1000000", "answers_per_hour = 2"
        )
        home.policy_file.write_text(text)

        async def train():
            await world.prepare()
            said = []
            waiting = world.agent(NAMES[0], said.append)
            working = asyncio.create_task(waiting.run())
            async with world.agents(*NAMES[1:]):
                training = asyncio.create_task(world.training().run())
                await until(lambda: sum("not now" in text for text in said) >= 3)
                assert not training.done()
                training.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await training
            waiting.stop()
            await working

        run(train())
        assert world.given()[NAMES[0]] == 2
        assert world.refusals(NAMES[0]) == []


def test_a_changed_dataset_stops_the_agent(tmp_path):
    with _world(tmp_path) as world:
        data = world.folder / "0.parquet"

        async def train():
            await world.prepare()
            agent = world.agent(world.plan.parties[0].name)
            working = asyncio.create_task(agent.run())
            training = asyncio.create_task(world.training().run())
            await until(lambda: world.answered(world.plan.parties[0].name) == 1)
            write_rows(data, seed=99)
            async with world.agents(*[p.name for p in world.plan.parties[1:]]):
                await until(agent._stopped.is_set)
                training.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await training
            await working

        with pytest.raises(TreatyError, match="the records have changed"):
            run(train())
        with pytest.raises(TreatyError, match="these are not the records of this ledger"):
            Home(world.homes[world.plan.parties[0].name].folder).open()
