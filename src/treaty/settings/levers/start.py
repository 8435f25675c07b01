"""Where training begins: the best model of the public rows, or one that their own parts bear out."""

from collections.abc import Iterator
from typing import ClassVar

from treaty.settings.expecting import Judge
from treaty.settings.levers.lever import Lever, Option
from treaty.terms import Treaty


class Start(Lever):
    """The treaty's own ridge, or one by cross-validation: chance may tell few public rows apart."""

    name: ClassVar[str] = "start"
    line: ClassVar[str] = "training.start"

    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return the best model of the public rows, then that with a ridge by cross-validation."""
        words = ("the public rows' best model", "their model with a ridge by cross-validation")
        for begin, said in zip(("public", "tuned"), words, strict=True):
            training = treaty.training.model_copy(update={"start": begin})
            yield Option(treaty.model_copy(update={"training": training}), said)
