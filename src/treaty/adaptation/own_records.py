"""An owner's own records in parts, each of which can be left out: the ground of cross-validation."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np

from treaty.adaptation.metrics import Metric
from treaty.adaptation.path import Path, path_of
from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import Problem, Risk, RowRisk, pooled, risk_of
from treaty.matrices import Matrix


class OwnRecords:
    """Records of one owner, in parts.

    Paths are kept: every anchor that is adapted to the same records shares their decompositions.

    Args:
        problem: what is learnt.
        x: features.
        y: targets, as they are learnt.
        parts: into how many parts they are cut, at random.
        seed: of the cut.
    """

    PARTS: ClassVar[int] = 5

    def __init__(
        self, problem: Problem, x: Matrix, y: FloatArray, parts: int = PARTS, seed: int = 0
    ) -> None:
        if len(y) < 2 * parts:
            raise TreatyError(
                f"{len(y)} records are too few to be cut into {parts} parts of at least 2"
            )
        self.x: Matrix = x
        self.y = y
        part = np.random.default_rng(seed).permutation(np.arange(len(y)) % parts)
        self.rows: list[IntArray] = [np.flatnonzero(part == k) for k in range(parts)]
        loss = problem.fitness_loss
        self._begin(problem, [risk_of(loss, x[rows], y[rows]) for rows in self.rows])

    @classmethod
    def of_parts(cls, problem: Problem, risks: Sequence[Risk]) -> "OwnRecords":
        """Return records that are known only as the risks of their parts, not one by one."""
        made = cls.__new__(cls)
        made.x, made.y, made.rows = np.zeros((0, problem.dimension)), np.zeros(0), []
        made._begin(problem, risks)
        return made

    def _begin(self, problem: Problem, risks: Sequence[Risk]) -> None:
        self.problem = problem
        self._risks = list(risks)
        self._paths: dict[tuple[frozenset[int], str], Path] = {}

    @property
    def parts(self) -> range:
        """The numbers of the parts."""
        return range(len(self._risks))

    def part(self, number: int) -> Risk:
        """Return one part."""
        return self._risks[number]

    def without(self, left_out: Iterable[int]) -> Risk:
        """Return all records but those of some parts."""
        out = set(left_out)
        return pooled([risk for k, risk in enumerate(self._risks) if k not in out])

    def rows_without(self, left_out: Iterable[int]) -> RowRisk:
        """Return all records but those of some parts, as rows."""
        out = set(left_out)
        kept = np.concatenate([rows for k, rows in enumerate(self.rows) if k not in out])
        return RowRisk(self.problem.fitness_loss, self.x[kept], self.y[kept])

    def path(self, metric: Metric, left_out: frozenset[int]) -> Path:
        """Return the path of all records but those of some parts, in a metric."""
        key = (left_out, metric.name)
        if key not in self._paths:
            self._paths[key] = path_of(self.problem, self.without(left_out), metric.matrix)
        return self._paths[key]
