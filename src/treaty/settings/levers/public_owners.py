"""Of how many owners the public rows are: those of few owners know little of the others."""

from collections.abc import Iterator
from typing import ClassVar

from treaty.learners.blended_step import BlendedStep
from treaty.settings.expecting import Judge
from treaty.settings.levers.lever import Lever, Option
from treaty.terms import Treaty


class PublicOwners(Lever):
    """The curvature of public rows is known from so many rows, or from so many owners."""

    name: ClassVar[str] = "public owners"
    line: ClassVar[str] = "training.parameters"
    ordered: ClassVar[bool] = False

    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return owners, then rows, where public rows say whose they are."""
        if not judge.owners or treaty.training.method != BlendedStep.name:
            return
        for words, parameters in (
            (f"known from {judge.owners} owners", {"public_owners": float(judge.owners)}),
            ("known from all rows", {}),
        ):
            training = treaty.training.model_copy(update={"parameters": parameters})
            yield Option(treaty.model_copy(update={"training": training}), words)
