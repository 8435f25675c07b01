"""The kind of noise: Laplace for pure ε, Gaussian where a δ is allowed."""

from collections.abc import Iterator
from typing import ClassVar

from treaty.settings.expecting import Judge
from treaty.settings.levers.lever import Lever, Option
from treaty.terms import Treaty


class NoiseKind(Lever):
    """Laplace or Gaussian noise, where every party has a δ.

    Args:
        delta: δ of every party; none is allowed if it is 0.
    """

    name: ClassVar[str] = "mechanism"
    line: ClassVar[str] = "training.mechanism"

    def __init__(self, delta: float) -> None:
        self._delta = delta

    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return Laplace noise, then Gaussian if a δ is allowed."""
        if self._delta == 0:
            return
        for mechanism, delta, words in (
            ("laplace", 0.0, "Laplace noise, pure ε"),
            ("gaussian", self._delta, f"Gaussian noise, δ = {self._delta:g}"),
        ):
            training = treaty.training.model_copy(update={"mechanism": mechanism})
            parties = tuple(p.model_copy(update={"delta": delta}) for p in treaty.parties)
            yield Option(
                treaty.model_copy(update={"training": training, "parties": parties}), words
            )
