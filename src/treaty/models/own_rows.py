"""An owner's own records as a model reads them, and what a model may be held near to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treaty.adaptation import Metric, OwnRecords, alone, in_predictions
from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness import Problem, RowRisk
from treaty.matrices import beside
from treaty.models.own_columns import ColumnReader, OwnColumns
from treaty.records import Encoder, Source, SourceLike, open_source

FEWEST = 20
"""So many records an owner needs to adapt a model to them."""


class OneLabel(TreatyError):
    """All records of an owner have the same label: a shared model stays as it is."""


@dataclass(frozen=True, eq=False)
class Reader:
    """How a model reads records.

    Args:
        problem: what it is a model of.
        encoder: how a row becomes (x, y) by the treaty.
        columns: columns of an owner's own that it reads on top.
    """

    problem: Problem
    encoder: Encoder
    columns: OwnColumns | None = None

    def own(self, records: SourceLike, extra: Sequence[str] = ()) -> "OwnRows":
        """Read an owner's own records.

        Args:
            records: the records.
            extra: columns of the owner's own that a model may use on top.
        """
        source, loss = self._open(records), self.problem.fitness_loss
        extra = list(dict.fromkeys(extra))
        self._check_extra(extra)
        known = () if self.columns is None else tuple(self.columns.features)
        judged = self.encoder.judged(loss, source, also=(*known, *extra))
        check_own(source, judged.rows, labels=loss.labels)
        x = judged.rows.x
        if self.columns is not None:
            x = beside(x, self.columns.x(judged.also))
        columns = ColumnReader(judged.also.select(extra)) if extra else None
        own = OwnRecords(self.problem, x, judged.rows.y, further=columns)
        return OwnRows(own, judged.rows, judged.truth, columns)

    def _open(self, records: SourceLike) -> Source:
        return open_source(records, dialect=self.encoder.dialect)

    def _check_extra(self, extra: Sequence[str]) -> None:
        if extra and self.columns is not None:
            raise TreatyError(
                "this model has columns of your own already: adapt the shared model, with all of them"
            )
        for column in extra:
            if column == self.encoder.target.column:
                raise TreatyError(f'"{column}" is what is predicted: it cannot be an extra column')
            if column in self.encoder.features:
                raise TreatyError(f'"{column}" is a column of the model already')

    def metrics(
        self, theta: FloatArray, own: "OwnRows", public: SourceLike | None
    ) -> tuple[Metric, ...]:
        """Return in which metrics a model is held near: that of public rows, or else of the own ones."""
        rows = own.rows
        if public is not None:
            rows, _ = self.encoder.rows(self.problem.fitness_loss, self._open(public))
        return in_predictions(self.problem, rows, theta[: self.problem.dimension])

    def public_model(self, public: SourceLike) -> FloatArray:
        """Return the best model of public rows, with as much of a ridge as cross-validation asks for."""
        source = self._open(public)
        rows, _ = self.encoder.rows(self.problem.fitness_loss, source)
        if rows.n < FEWEST:
            raise TreatyError(
                f"{source.label}: {rows.n} public rows are too few for a model: at least {FEWEST} are "
                "needed"
            )
        return alone(OwnRecords(self.problem, rows.x, rows.y, 10)).theta


@dataclass(frozen=True, eq=False)
class OwnRows:
    """An owner's own records, read.

    Args:
        records: all columns, in parts.
        rows: those of the treaty.
        truth: what is true of each as the user writes it.
        reader: what reads extra columns, if there are any.
    """

    records: OwnRecords
    rows: RowRisk
    truth: FloatArray
    reader: ColumnReader | None

    @property
    def extra(self) -> OwnColumns | None:
        """How extra columns are read, as all records tell."""
        return None if self.reader is None else self.reader.fit(np.arange(len(self.truth)))


def check_own(source: Source, rows: RowRisk, *, labels: bool) -> None:
    """Refuse records that are too few to adapt a model to, or that are all alike."""
    if rows.n < FEWEST:
        raise TreatyError(
            f"{source.label}: {rows.n} records are too few to adapt a model to: at least {FEWEST} are "
            "needed"
        )
    if labels and len(np.unique(rows.y)) < 2:
        raise OneLabel(
            f"{source.label}: every record has the same label, so nothing can be learnt from them"
        )
