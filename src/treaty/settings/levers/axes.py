"""Axes: whole gradients, or only the few numbers of them in which most is to be learnt."""

from collections.abc import Iterator
from typing import ClassVar

from treaty.learners.blended_step import BlendedStep
from treaty.settings.expecting import Judge
from treaty.settings.levers.lever import Lever, Option
from treaty.terms import Treaty, encoder_of

NUMBERS = (2, 3, 5, 8, 12, 20)


class Axes(Lever):
    """Owners asked along all directions, or along those in which the public model may be off most.

    With little noise all are best. Where noise decides, a few tell nearly as much, and cost less of it.
    """

    name: ClassVar[str] = "axes"
    line: ClassVar[str] = "training.axes"
    first_if = "trifle"

    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return all directions, then few and more."""
        if treaty.training.method != BlendedStep.name:
            return
        yield Option(_along(treaty, None), "whole gradients")
        width = encoder_of(judge.fitted(treaty)).dictionary.dimension
        for number in NUMBERS:
            if number < width:
                yield Option(_along(treaty, number), f"along {number} axes")


def _along(treaty: Treaty, axes: int | None) -> Treaty:
    training = treaty.training.model_copy(update={"axes": axes})
    return treaty.model_copy(update={"training": training})
