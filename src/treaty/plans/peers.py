"""Peers: every owner is the learner of its own model, and no central one is needed (W §V)."""

import math

from treaty.errors import TreatyError
from treaty.plans.plan import Plan
from treaty.privacy import Budget


def peer_plans(plan: Plan, *, as_published: bool = False) -> dict[str, Plan]:
    """Return one plan for every owner, in which it is the learner.

    The paper lets a learner ask its own records without noise (ε = ∞), and gives every learner the
    full ε_i of the others. Neither holds up: each θ that the learner sends to its peers contains its
    own last gradient, which a peer that knows its own answer can solve for; and an owner that answers
    N − 1 learners spends its budget N − 1 times as soon as two of them compare notes. So by default
    every owner splits its budget over all N trainings, its own among them, and noises its own answers
    too.

    Args:
        plan: the common plan.
        as_published: the paper's budgets, for simulations: they protect no learner from its peers.
    """
    if not as_published:
        shared = plan.with_budgets(lambda party: party.budget.split(len(plan.parties)))
        return {party.name: shared for party in plan.parties}
    if plan.weights == "precision":
        raise TreatyError("a learner without noise would weigh everything: use weights by records")

    def free(learner: str) -> Plan:
        return plan.with_budgets(
            lambda party: Budget(math.inf) if party.name == learner else party.budget
        )

    return {party.name: free(party.name) for party in plan.parties}
