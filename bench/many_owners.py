"""Two hundred owners: 20 synchronous rounds over TLS, every answer in a durable ledger of its owner.

`lost` is how many of the answers that should have been given are missing in the learner's journal or in
the owners' ledgers.
"""

import asyncio
import time

from bench.consortium import Consortium, consortium, served
from bench.report import finish
from treaty.federation.agent import Agent
from treaty.federation.training import FederatedTraining

OWNERS, ROUNDS = 200, 20


async def trained(made: Consortium) -> tuple[float, int]:
    """Run every owner as a task of its own, train, and return the seconds and the answers heard."""
    agents = [Agent(made.home(name), made.channel(name)) for name in made.names]
    working = [asyncio.create_task(agent.run()) for agent in agents]
    training = FederatedTraining(made.treaty, made.channel("learner"), made.folder / "run.journal")
    began = time.perf_counter()
    await training.run()
    seconds = time.perf_counter() - began
    for agent in agents:
        agent.stop()
    await asyncio.gather(*working)
    assert training.ending is not None
    return seconds, sum(training.ending.given.values())


def main() -> None:
    with (
        consortium(OWNERS, 200, 10, "squared", "averaged-subgradient", ROUNDS + 1) as made,
        served(made),
    ):
        seconds, heard = asyncio.run(trained(made))
        written = 0
        for name in made.names:
            ledger = made.home(name).ledger()
            ledger.verify()
            written += ledger.answers_given(made.fingerprint)
            ledger.close()
    expected = OWNERS * ROUNDS
    finish(
        lost=2 * expected - heard - written,
        answers=heard,
        seconds=round(seconds, 2),
        answers_per_second=round(heard / seconds, 1),
    )


if __name__ == "__main__":
    main()
