"""An owner's own records in parts, each of which can be left out: the ground of cross-validation."""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import ClassVar

import numpy as np

from treaty.adaptation.metrics import Metric
from treaty.adaptation.path import Path, path_of
from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import Problem, Risk, RowRisk, pooled, risk_of
from treaty.matrices import Matrix, beside, filled


class OwnRecords:
    """Records of one owner, in parts.

    Paths are kept: every anchor that is adapted to the same records shares their decompositions.

    Args:
        problem: what is learnt.
        x: features.
        y: targets, as they are learnt.
        parts: into how many parts they are cut, at random.
        seed: of the cut.
        further: columns of the owner's own on top of x, for all records, as read by whoever has seen
            only the given ones.
    """

    PARTS: ClassVar[int] = 5

    def __init__(
        self,
        problem: Problem,
        x: Matrix,
        y: FloatArray,
        parts: int = PARTS,
        seed: int = 0,
        further: Callable[[IntArray], Matrix] | None = None,
    ) -> None:
        if len(y) < 2 * parts:
            raise TreatyError(
                f"{len(y)} records are too few to be cut into {parts} parts of at least 2"
            )
        part = np.random.default_rng(seed).permutation(np.arange(len(y)) % parts)
        self.rows: list[IntArray] = [np.flatnonzero(part == k) for k in range(parts)]
        self._first, self._further = x, further
        self._whole = problem
        self._read(y, self.rows)

    def _read(self, y: FloatArray, seen: Sequence[IntArray]) -> None:
        self.x: Matrix = self._first
        self.y = y
        if self._further is not None:
            self.x = beside(self._first, self._further(np.sort(np.concatenate(seen))))
        domain = replace(self._whole.domain, dimension=self.x.shape[1])
        problem = replace(self._whole, domain=domain)
        loss = problem.fitness_loss
        self._begin(problem, [risk_of(loss, self.x[rows], y[rows]) for rows in self.rows])

    def hiding(self, part: int) -> "OwnRecords":
        """Return the same records in the same parts, as read by whoever has never seen one of these."""
        if self._further is None:
            return self
        other = copy(self)
        other._read(self.y, [rows for k, rows in enumerate(self.rows) if k != part])
        return other

    @classmethod
    def of_parts(cls, problem: Problem, risks: Sequence[Risk]) -> "OwnRecords":
        """Return records that are known only as the risks of their parts, not one by one."""
        made = cls.__new__(cls)
        made.x, made.y, made.rows = np.zeros((0, problem.dimension)), np.zeros(0), []
        made._further = None
        made._begin(problem, risks)
        return made

    def _begin(self, problem: Problem, risks: Sequence[Risk]) -> None:
        self.problem = problem
        self._risks = list(risks)
        self._paths: dict[tuple[frozenset[int], str], Path] = {}

    def filled(self, left_out: frozenset[int]) -> FloatArray | None:
        """Return which share of the records has another number than 0, of each column.

        Nothing if every record has, or if records are known only as risks.
        """
        rows = [rows for k, rows in enumerate(self.rows) if k not in left_out]
        if not rows:
            return None
        shares = filled(self.x if not left_out else self.x[np.concatenate(rows)])
        return shares if bool((shares < 1).any()) else None

    def wide(self, models: FloatArray) -> FloatArray:
        """Return models with zeros for the columns that they do not know."""
        return np.pad(models, ((0, 0), (0, self.problem.dimension - models.shape[1])))

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
