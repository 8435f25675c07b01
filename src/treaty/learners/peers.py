"""Peers: every owner is the learner of its own model, and no central one is needed (W §V)."""

import math
from dataclasses import replace

from treaty.learners.plan import Plan
from treaty.privacy import Budget


def peer_plans(plan: Plan, *, collusion: bool = True) -> dict[str, Plan]:
    """Return one plan for every owner, in which it is the learner and asks its own records freely.

    Its own ε is infinite: nobody else sees its queries to itself, nor its model. Every other owner
    answers N − 1 learners, so by default it splits its budget among them. The paper gives each
    learner the full ε_i, which holds only while no two learners compare notes; that is
    `collusion=False`.

    Args:
        plan: the common plan.
        collusion: whether learners may put together what they learn.
    """
    ways = max(1, len(plan.parties) - 1) if collusion else 1

    def seen_by(learner: str) -> Plan:
        parties = tuple(
            replace(party, budget=Budget(math.inf))
            if party.name == learner
            else replace(party, budget=party.budget.split(ways))
            for party in plan.parties
        )
        return plan.with_parties(parties)

    return {party.name: seen_by(party.name) for party in plan.parties}
