"""A training once more, from what the owners' ledgers hold: proof of what a model is made of."""

from collections.abc import Mapping, Sequence

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.owner import Query
from treaty.plans import Driver
from treaty.privacy import Ledger


def replayed(
    driver: Driver,
    ledgers: Sequence[Ledger],
    treaty: str,
    run: str,
    met: Mapping[int, int] | None = None,
) -> FloatArray:
    """Return the model that a run's answers come to; bit for bit the one that was trained.

    Args:
        driver: of the plan, new.
        ledgers: every party's, in the plan's order.
        treaty: under what was asked.
        run: the run.
        met: the bloc of rounds in which more than one was asked, as the learner's journal has it.

    Raises:
        TreatyError: the ledgers do not hold one training: somebody was asked another θ, two blocs
            answered one round, or a round is missing.
    """
    blocs = driver.blocs
    for k in driver.rounds():
        held = [ledger.entry(treaty, run, k) for ledger in ledgers]
        answers = {i: entry.answer for i, entry in enumerate(held) if entry is not None}
        if met is not None and k in met:
            answers = {i: values for i, values in answers.items() if i in blocs[met[k]].members}
        fitting = [b for b, bloc in enumerate(blocs) if set(bloc.members) >= answers.keys()]
        if not answers or not fitting:
            raise TreatyError(f"round {k}: no one bloc of owners has answered it")
        query = Query.of(treaty, run, k, driver.ask(fitting[0]))
        asked = [held[i] for i in answers]
        if any(
            e is not None and (e.question, e.theta) != (query.question, query.theta) for e in asked
        ):
            raise TreatyError(f"round {k}: an owner was asked about another θ")
        driver.tell(fitting[0], answers)
    return driver.model
