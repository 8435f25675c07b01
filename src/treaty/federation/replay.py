"""A training once more, from what the owners' ledgers hold: proof of what a model is made of."""

from collections.abc import Mapping, Sequence

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.federation.conductor import mean_answer
from treaty.learners import Learner, Plan, blocs_of
from treaty.privacy import Ledger


def replayed(
    learner: Learner,
    plan: Plan,
    ledgers: Sequence[Ledger],
    treaty: str,
    run: str,
    met: Mapping[int, int] | None = None,
) -> FloatArray:
    """Return the model that a run's answers come to; bit for bit the one that was trained.

    Args:
        learner: a new learner of the plan.
        plan: the plan.
        ledgers: every party's, in the plan's order.
        treaty: under what was asked.
        run: the run.
        met: the bloc of rounds in which more than one was asked, as the learner's journal has it.

    Raises:
        TreatyError: the ledgers do not hold one training: somebody was asked another θ, two blocs
            answered one round, or a round is missing.
    """
    blocs = blocs_of(plan, synchronous=learner.synchronous)
    while not learner.finished:
        k = learner.round
        held = [ledger.entry(treaty, run, k) for ledger in ledgers]
        answers = {i: entry.answer for i, entry in enumerate(held) if entry is not None}
        if met is not None and k in met:
            answers = {i: values for i, values in answers.items() if i in blocs[met[k]].members}
        fitting = [b for b, bloc in enumerate(blocs) if set(bloc.members) >= answers.keys()]
        if not answers or not fitting:
            raise TreatyError(f"round {k}: no one bloc of owners has answered it")
        theta = tuple(learner.ask(fitting[0]).tolist())
        asked = [held[i] for i in answers]
        if any(entry is not None and entry.theta != theta for entry in asked):
            raise TreatyError(f"round {k}: an owner was asked about another θ")
        learner.tell(fitting[0], mean_answer(blocs[fitting[0]], answers))
    return learner.model
