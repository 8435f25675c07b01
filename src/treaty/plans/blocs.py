"""Blocs: owners that are asked together and count as one.

A synchronous learner asks one bloc of everybody. An asynchronous one meets one bloc at a time: by
default every owner is its own; F Remark 2 lets several form one fictitious owner.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treaty.arrays import FloatArray


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

    def mean(self, answers: Mapping[int, Sequence[float] | FloatArray]) -> FloatArray:
        """Return the mean of members' answers by their shares; of those that came, if some did not.

        Args:
            answers: by the index of the party.
        """
        present = [i for i in self.members if i in answers]
        shares = np.array([self.shares[self.members.index(i)] for i in present])
        if len(present) < len(self.members):
            shares = shares / shares.sum()
        return np.einsum("i,ij->j", shares, np.array([answers[i] for i in present]))


def everybody(shares: FloatArray) -> Bloc:
    """Return the one bloc that a synchronous learner asks."""
    return _bloc(shares, tuple(range(len(shares))))


def one_by_one(
    names: Sequence[str], shares: FloatArray, together: Sequence[Sequence[str]]
) -> tuple[Bloc, ...]:
    """Return the blocs that an asynchronous learner meets, in the order of their first members.

    Args:
        names: the owners.
        shares: the weight of each in the learner's gradient.
        together: owners that answer as one.
    """
    index = {name: i for i, name in enumerate(names)}
    seated = [tuple(sorted(index[name] for name in bloc)) for bloc in together]
    taken = {i for bloc in seated for i in bloc}
    alone = [(i,) for i in range(len(names)) if i not in taken]
    return tuple(_bloc(shares, members) for members in sorted(seated + alone))


def _bloc(every: FloatArray, members: tuple[int, ...]) -> Bloc:
    shares = every[list(members)]
    weight = float(shares.sum())
    inside = shares / weight if weight > 0 else np.full(len(members), 1.0 / len(members))
    return Bloc(members, inside, weight)
