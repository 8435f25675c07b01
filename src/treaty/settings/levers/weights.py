"""How owners are weighed: by records, or by how precise their answers are."""

from collections.abc import Iterator
from typing import ClassVar

from treaty.settings.expecting import Judge
from treaty.settings.levers.lever import Lever, Option
from treaty.terms import Treaty


class Weighing(Lever):
    """By records, or by precision where owners' budgets differ."""

    name: ClassVar[str] = "weights"
    line: ClassVar[str] = "training.weights"

    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return both, if owners differ in what they spend on a record."""
        if len({(party.records, party.epsilon) for party in treaty.parties}) < 2:
            return
        for weights in ("records", "precision"):
            training = treaty.training.model_copy(update={"weights": weights})
            yield Option(treaty.model_copy(update={"training": training}), f"by {weights}")
