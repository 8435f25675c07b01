"""Where a study's rows become owners' records for an experiment."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.fitness import Moments, Problem, Risk, RowRisk, pooled, risk_of
from treaty.fitness.risk import has_moments
from treaty.losses import Loss
from treaty.studies.study import SAID, Study


@dataclass(frozen=True, eq=False)
class Holdings:
    """Which rows are whose.

    Args:
        rows: the indices of every owner's rows, by name.
        records: how many records each owner has. More than rows where each row stands for several.
    """

    rows: dict[str, IntArray]
    records: dict[str, int]


class Lab:
    """The rows of a study, encoded once, and dealt out as an experiment asks.

    Args:
        study: the study.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.dealt = lru_cache(maxsize=64)(self._dealt)
        self._whole = lru_cache(maxsize=4)(self._every)

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

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all rows and of whose they are: results of other rows are not mixed up."""
        made = hashlib.blake2b(self.study.name.encode(), digest_size=16)
        if self.study.by is not None:
            made.update("\n".join(self.study.private[self.study.by].to_list()).encode())
        for values in (*self.rows, *self.public):
            made.update(np.ascontiguousarray(values).data)
        return made.hexdigest()

    def problem(self, loss: Loss, ridge: float, theta_max: float) -> Problem:
        """Return what is learnt from these rows."""
        dictionary = self.study.encoder.dictionary
        return Problem(
            loss, self.study.encoder.domain, ridge, theta_max, dictionary.intercept_index
        )

    def _dealt(self, sizes: tuple[int, ...]) -> Holdings:
        """Deal rows out as the papers do: the first n₁, the next n₂, and so on.

        Where there are fewer rows than that, they are used again from the first; `said` tells. Drawn at
        random instead, owners would be more alike than neighbours in a file are.
        """
        order = np.arange(sum(sizes)) % len(self.rows[1])
        parts = np.split(order, np.cumsum(sizes)[:-1])
        names = [f"owner {i + 1}" for i in range(len(sizes))]
        return Holdings(dict(zip(names, parts, strict=True)), dict(zip(names, sizes, strict=True)))

    def by_owner(self, fewest: int, full: int) -> Holdings:
        """Return every owner named in the rows that has at least so many records.

        Where the rows are a part of `full` ones, each stands for several records.

        Args:
            fewest: how many records an owner must have.
            full: how many rows the whole file has.
        """
        study = self.study
        assert study.by is not None
        times = max(1.0, full / len(study.frame)) if len(study.frame) < 0.9 * full else 1.0
        names, owner, counts = np.unique(
            study.private[study.by].to_numpy(), return_inverse=True, return_counts=True
        )
        order = np.argsort(owner, kind="stable")
        parts = np.split(order, np.cumsum(counts)[:-1])
        large = {
            str(name): part
            for name, part in zip(names, parts, strict=True)
            if round(times * len(part)) >= fewest
        }
        return Holdings(large, {name: round(times * len(part)) for name, part in large.items()})

    def risks(self, loss: Loss, holdings: Holdings, *, single: bool = False) -> dict[str, Risk]:
        """Return the records of every owner, as what they say about a model.

        Args:
            loss: ℓ.
            holdings: which rows are whose.
            single: whether rows are kept in single precision, for simulations.
        """
        return {name: self._of(loss, rows, single) for name, rows in holdings.rows.items()}

    def _of(self, loss: Loss, rows: IntArray, single: bool) -> Risk:
        """Return some rows; what is all of them several times over is asked once."""
        x, y = self.rows
        again = len(rows) // len(y)
        if again == 0 or has_moments(loss):
            return _at(risk_of(loss, x[rows], y[rows]), single)
        whole = self._whole(loss, single)
        rest = rows[again * len(y) :]
        if not len(rest):
            return whole
        left = _at(risk_of(loss, x[rest], y[rest]), single)
        share = len(rest) / len(rows)
        return pooled([whole, left], [1 - share, share])

    def _every(self, loss: Loss, single: bool) -> Risk:
        return _at(risk_of(loss, *self.rows), single)

    def sample(self, loss: Loss, rows: int) -> RowRisk:
        """Return some of all owners' rows, evenly spread over their order."""
        x, y = self.rows
        some = np.linspace(0, len(y) - 1, min(rows, len(y))).astype(int)
        return RowRisk(loss, np.ascontiguousarray(x[some]), y[some])

    def said(self, sizes: Sequence[int]) -> str:
        """Return in words which kind of rows an experiment of such sizes shows."""
        again = ", used again where they run out" if sum(sizes) > len(self.study.private) else ""
        return f"{self._kind}{again}"

    @property
    def _kind(self) -> str:
        shuffled = ", shuffled" if self.study.shuffled else ""
        return f"{SAID[self.study.kind]}{shuffled}"

    def described(self) -> str:
        """Return in words what these rows are."""
        study = self.study
        told = (
            f"{study.name}: {self._kind}; {len(study.frame):,} rows, the last "
            f"{study.public_rows:,} of them public; "
        )
        if study.target.bounds is None:
            return told + f"{float((self.rows[1] > 0).mean()):.3%} of the others are frauds"
        m = Moments.of([self.rows])
        best = np.linalg.lstsq(m.xx, m.xy, rcond=None)[0]
        left = m.yy - float(best @ m.xy)
        variance = m.yy - float(self.rows[1].mean()) ** 2
        explained = 1 - left / variance
        told += f"a linear model explains {explained:.2f} of the variance of {study.target.column}"
        if study.by is not None:
            told += f"; {study.private[study.by].n_unique()} owners"
        return told


def _at(risk: Risk, single: bool) -> Risk:
    return risk.in_single_precision() if single and isinstance(risk, RowRisk) else risk
