"""Budgets whose δ is large for the number of records: δ is what may go wrong for any one of them."""

from treaty.plans.party import Party
from treaty.plans.plan import Plan

FEW = 10.0
"""A δ above 1/(10 n) is looked at twice."""


def delta_doubt(party: Party) -> str:
    """Say what is doubtful about a party's δ; nothing if it lies far below 1/n."""
    delta, records = party.budget.delta, party.records
    if delta >= 1.0 / records:
        return (
            f"δ = {delta:g} of {party.name} is 1/n or more (n = {records:,}): publishing one record as "
            "it is, chosen by lot, would keep such a δ; it should lie far below 1/n"
        )
    if delta > 1.0 / (FEW * records):
        return (
            f"δ = {delta:g} of {party.name} is above 1/(10 n) (n = {records:,}): it should lie far "
            "below 1/n"
        )
    return ""


def delta_doubts(plan: Plan) -> list[str]:
    """Say what is doubtful about the δ of any party."""
    return [doubt for party in plan.parties if (doubt := delta_doubt(party))]
