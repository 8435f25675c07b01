"""With which privacy a model was made: what says that, or that there was none, goes with it."""

import math
from collections.abc import Mapping

from treaty.plain import Plain


class OwnerPrivacy(Plain):
    """What one owner's answers in a training come to.

    Args:
        epsilon: ε, about a record; none where they were given without noise.
        delta: δ, at which ε is told.
        answers: how many.
    """

    epsilon: float | None
    delta: float = 0.0
    answers: int


class Provenance(Plain):
    """With which privacy a model was made.

    Args:
        mechanism: the noise.
        overlap: κ, in how many datasets one record may sit.
        owners: what each owner's answers come to, by name; nobody where only public rows were used.
    """

    mechanism: str
    overlap: int = 1
    owners: dict[str, OwnerPrivacy]

    @classmethod
    def of(
        cls,
        mechanism: str,
        overlap: int,
        spent: Mapping[str, float],
        deltas: Mapping[str, float],
        answers: Mapping[str, int],
    ) -> "Provenance":
        """Return what a training tells: ε, δ and answers by owner; ε is infinite without noise."""
        owners = {
            name: OwnerPrivacy(
                epsilon=None if math.isinf(epsilon) else epsilon,
                delta=deltas[name],
                answers=answers[name],
            )
            for name, epsilon in spent.items()
        }
        return cls(mechanism=mechanism, overlap=overlap, owners=owners)

    @property
    def noiseless(self) -> tuple[str, ...]:
        """The owners that answered without noise."""
        return tuple(name for name, owner in self.owners.items() if owner.epsilon is None)

    def words(self) -> str:
        """Say in a few words what protects the records it was made from."""
        if self.noiseless:
            return "trained without noise"
        if not self.owners:
            return "from public rows alone"
        most = max(self.owners.values(), key=lambda owner: owner.epsilon or 0.0)
        delta = f", δ {max(owner.delta for owner in self.owners.values()):g}"
        with_delta = delta if any(owner.delta for owner in self.owners.values()) else ""
        return f"ε at most {most.epsilon:.3g}{with_delta} for a record"
