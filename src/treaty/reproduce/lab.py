"""Where a study's rows become owners' records for an experiment."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from treaty.arrays import FloatArray
from treaty.fitness import Problem, Risk, risk_of
from treaty.losses import Loss
from treaty.reproduce.study import SAID, Study


class Lab:
    """The rows of a study, encoded once, and dealt out as an experiment asks.

    Args:
        study: the study.
        seed: of the draws where more records are asked for than there are.
    """

    def __init__(self, study: Study, seed: int = 0) -> None:
        self.study = study
        self._seed = seed

    @cached_property
    def rows(self) -> tuple[FloatArray, FloatArray]:
        """The owners' rows, in order, as x and y."""
        blocks = list(self.study.blocks(self.study.private))
        return np.concatenate([x for x, _ in blocks]), np.concatenate([y for _, y in blocks])

    @cached_property
    def public(self) -> tuple[FloatArray, FloatArray]:
        """The public rows as x and y."""
        blocks = list(self.study.blocks(self.study.public))
        return np.concatenate([x for x, _ in blocks]), np.concatenate([y for _, y in blocks])

    def problem(self, loss: Loss, ridge: float, theta_max: float) -> Problem:
        """Return what is learnt from these rows."""
        dictionary = self.study.encoder.dictionary
        return Problem(
            loss, self.study.encoder.domain, ridge, theta_max, dictionary.intercept_index
        )

    def risks(self, loss: Loss, sizes: Sequence[int]) -> dict[str, Risk]:
        """Return owners' records: the first n₁ rows, the next n₂, and so on.

        Where there are fewer rows than that, they are drawn with replacement; `said` tells.
        """
        x, y = self.rows
        order = np.arange(sum(sizes))
        if len(order) > len(y):
            order = np.random.default_rng(self._seed).integers(len(y), size=len(order))
        parts = np.split(order, np.cumsum(sizes)[:-1])
        return {f"owner {i + 1}": risk_of(loss, x[part], y[part]) for i, part in enumerate(parts)}

    def said(self, sizes: Sequence[int]) -> str:
        """Return in words which kind of rows an experiment of such sizes shows."""
        drawn = ", drawn with replacement" if sum(sizes) > len(self.study.private) else ""
        return f"{SAID[self.study.kind]}{drawn}"
