"""Blocs: owners that are asked together and count as one.

A synchronous learner asks one bloc of everybody. An asynchronous one meets one bloc at a time: by
default every owner is its own; F Remark 2 lets several form one fictitious owner.
"""

from dataclasses import dataclass

import numpy as np

from treaty.arrays import FloatArray
from treaty.learners.plan import Plan


@dataclass(frozen=True, eq=False)
class Bloc:
    """Some owners whose answers are averaged.

    Args:
        members: indices into the plan's parties.
        shares: the weight of each member inside the bloc; they sum to 1.
        weight: the weight of the bloc in the learner's gradient.
    """

    members: tuple[int, ...]
    shares: FloatArray
    weight: float


def blocs_of(plan: Plan, *, synchronous: bool) -> tuple[Bloc, ...]:
    """Return the blocs a plan's learner meets, in the order of their first members."""
    everybody = range(len(plan.parties))
    if synchronous:
        return (_bloc(plan, tuple(everybody)),)
    index = {party.name: i for i, party in enumerate(plan.parties)}
    seated = [tuple(sorted(index[name] for name in bloc)) for bloc in plan.blocs]
    taken = {i for bloc in seated for i in bloc}
    alone = [(i,) for i in everybody if i not in taken]
    return tuple(_bloc(plan, members) for members in sorted(seated + alone))


def _bloc(plan: Plan, members: tuple[int, ...]) -> Bloc:
    shares = plan.shares[list(members)]
    weight = float(shares.sum())
    inside = shares / weight if weight > 0 else np.full(len(members), 1.0 / len(members))
    return Bloc(members, inside, weight)
