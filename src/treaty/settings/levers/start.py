"""Where training begins: the best model of the public rows, or one that their own parts bear out."""

from collections.abc import Iterator
from typing import ClassVar

from treaty.settings.expecting import Judge
from treaty.settings.levers.lever import Lever, Option
from treaty.terms import Treaty


class Start(Lever):
    """A ridge by cross-validation, or the treaty's own where that is clearly better.

    With next to no ridge, few public rows are told apart by chance: labels perhaps without any error,
    and then nothing tells how far off their model is.
    """

    name: ClassVar[str] = "start"
    line: ClassVar[str] = "training.start"

    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return the public rows' model with a ridge by cross-validation, then their best model."""
        words = ("the public rows' model, its ridge by cross-validation", "their best model")
        for begin, said in zip(("tuned", "public"), words, strict=True):
            training = treaty.training.model_copy(update={"start": begin})
            yield Option(treaty.model_copy(update={"training": training}), said)
