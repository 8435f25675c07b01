"""Budget that a plan leaves unused: answers that are paid for and hardly ever asked."""

import math

from treaty.plans.plan import Plan

TRIFLE = 0.01
"""A share of a budget that is not worth a word."""


def expected_answers(plan: Plan) -> dict[str, float]:
    """Return how often each party is expected to be asked.

    A synchronous learner asks everybody equally often. One at a time, each is asked as often as its
    clock ticks first, which is in proportion to its rate, and no more often than it answers.
    """
    if plan.synchronous:
        asked = float(plan.learner_class.questions(plan.horizon))
        return {party.name: min(asked, plan.answers(party)) for party in plan.parties}
    rates = sum(party.rate for party in plan.parties)
    return {
        party.name: min(plan.horizon * party.rate / rates, float(plan.answers(party)))
        for party in plan.parties
    }


def unused(plan: Plan) -> dict[str, float]:
    """Return which share of its budget each party is expected to keep, of those that keep any."""
    found: dict[str, float] = {}
    for party in plan.parties:
        share = 1.0 - expected_answers(plan)[party.name] / plan.answers(party)
        if share > TRIFLE:
            found[party.name] = share
    return found


def waste(plan: Plan) -> list[str]:
    """Say which lines of the treaty leave budget unused, and what to write instead."""
    found = unused(plan)
    if not found:
        return []
    worst = max(found, key=lambda name: found[name])
    party = next(party for party in plan.parties if party.name == worst)
    asked, paid = expected_answers(plan)[worst], plan.answers(party)
    room = asked if plan.synchronous else asked + 3 * math.sqrt(asked)
    others = f" and {len(found) - 1} more" if len(found) > 1 else ""
    remedy = f"answers = {min(math.ceil(room), paid)} would let it answer with less noise"
    if math.ceil(room) >= paid:
        remedy = "a larger horizon would use it"
    return [
        f"{100 * found[worst]:.0f}% of the budget of {worst}{others} is left unused: it is asked some "
        f"{asked:.3g} times, and its noise is made for {paid:,} answers; {remedy}"
    ]
