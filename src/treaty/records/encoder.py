"""Records become (x, y): columns, dictionary and target put together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness import MomentRisk, Moments, Risk, RowRisk
from treaty.fitness.risk import has_moments
from treaty.losses import Domain, Loss
from treaty.records.columns import Feature
from treaty.records.counts import Counts
from treaty.records.dialect import PLAIN, Dialect
from treaty.records.dictionary import Dictionary, DictionaryTerms
from treaty.records.fitting import bounds_dictionary, encoded_columns, fit_dictionary
from treaty.records.keeping import FEW, Blocks, keep_dense, keep_sparse
from treaty.records.sources import Source, first_line, no_column
from treaty.records.target import Target
from treaty.records.values import as_numbers


@dataclass(frozen=True, eq=False)
class Judged:
    """Records as rows, with what is true of them.

    Args:
        rows: the rows.
        truth: every target as the user writes it. Numbers are not clamped, and missing ones are not a
            number; labels are −1 and +1.
        also: further columns, as they are.
    """

    rows: RowRisk
    truth: FloatArray
    also: pl.DataFrame


@dataclass(frozen=True)
class Encoder:
    """Turns rows of the user's columns into (x, y) inside the public domain.

    Args:
        features: the columns, by name.
        target: the column to predict.
        dictionary: how encoded columns become x.
        dialect: how text files are written, where their owner has not stated it.
    """

    features: Mapping[str, Feature]
    target: Target
    dictionary: Dictionary
    dialect: Dialect = PLAIN

    @property
    def domain(self) -> Domain:
        """The public set in which every (x, y) lies."""
        l1, l2 = self.dictionary.norm_bounds(self.features)
        return Domain(self.dictionary.dimension, l1, l2, self.target.interval)

    @property
    def is_sparse(self) -> bool:
        """Whether most of the numbers of a record's x are 0, and need not be kept."""
        dictionary = self.dictionary
        if dictionary.directions is not None or dictionary.frequencies is not None:
            return False
        centred, start, filled = np.array(dictionary.centre) != 0, 0, 1
        for feature in self.features.values():
            numeric, own = np.array(feature.numeric), centred[start : start + feature.width]
            weights = int(np.count_nonzero(~numeric))
            filled += feature.width if own[~numeric].any() else min(weights, 2) + numeric.sum()
            start += feature.width
        return filled <= FEW * dictionary.dimension

    def x(self, frame: pl.DataFrame, counts: Counts | None = None) -> FloatArray:
        """Return the features of rows."""
        counts = Counts() if counts is None else counts
        x, scaled = self.dictionary.apply(encode(self.features, frame, counts))
        counts.scaled += scaled
        return x

    def blocks(
        self,
        source: Source,
        counts: Counts,
        frames: list[pl.DataFrame] | None = None,
        also: Sequence[str] = (),
    ) -> Blocks:
        """Stream a source as blocks of (x, y).

        Args:
            source: the records.
            counts: what happens to them is counted here.
            frames: takes the target and further columns as they are, block by block.
            also: these further columns.
        """
        source = source.stated(self.dialect)
        for frame in source.blocks([*self.features, self.target.column, *also]):
            try:
                x = self.x(frame, counts)
                y = self.target.encode(frame[self.target.column], counts)
                if frames is not None:
                    frames.append(frame.select(self.target.column, *also))
            except TreatyError as error:
                raise TreatyError(f"{source.rows_of}: {error}") from error
            except PolarsError as error:
                raise TreatyError(
                    f"{source.label}: a column is of a type that cannot be encoded "
                    f"({first_line(error)})"
                ) from error
            counts.rows += len(frame)
            yield x, y

    def risk(self, loss: Loss, source: Source) -> tuple[Risk, Counts]:
        """Return the records of a source as a risk, with what happened to them on the way.

        A loss with sufficient statistics keeps nothing else; others keep the encoded rows, in
        memory or, past 1 GiB, in an unnamed temporary file.
        """
        counts = Counts()
        blocks = self.blocks(source, counts)
        if has_moments(loss):
            first = next(blocks, None)
            moments = None if first is None else Moments.of(_chain(first, blocks))
            _check_enough(source, counts)
            assert moments is not None
            return MomentRisk(moments), counts
        return self._kept(loss, source, blocks, counts)

    def rows(self, loss: Loss, source: Source) -> tuple[RowRisk, Counts]:
        """Return the records of a source as a risk that keeps every row, whatever the loss."""
        counts = Counts()
        return self._kept(loss, source, self.blocks(source, counts), counts)

    def judged(self, loss: Loss, source: Source, also: Sequence[str] = ()) -> Judged:
        """Return the records of a source as rows, and what is true of each as the user writes it.

        Args:
            loss: the loss.
            source: the records.
            also: further columns to be kept as they are.
        """
        # In one pass: a database may give its rows in another order the next time.
        counts, frames = Counts(), list[pl.DataFrame]()
        rows, counts = self._kept(loss, source, self.blocks(source, counts, frames, also), counts)
        whole, truth = pl.concat(frames), rows.y
        if self.target.bounds is not None:
            truth = as_numbers(self.target.column, whole[self.target.column], Counts())
        return Judged(rows, truth, whole.select(also))

    def _kept(
        self,
        loss: Loss,
        source: Source,
        blocks: Blocks,
        counts: Counts,
    ) -> tuple[RowRisk, Counts]:
        keep = keep_sparse if self.is_sparse else keep_dense
        x, y = keep(blocks, self.dictionary.dimension)
        _check_enough(source, counts)
        return RowRisk(loss, x, y), counts


def encode(features: Mapping[str, Feature], frame: pl.DataFrame, counts: Counts) -> FloatArray:
    """Return the encoded columns of rows, before the dictionary."""
    encoded = np.empty((len(frame), sum(f.width for f in features.values())), order="F")
    start = 0
    for column, feature in features.items():
        if column not in frame.columns:
            raise TreatyError(no_column(column, frame.columns))
        place = encoded[:, start : start + feature.width]
        feature.encode(column, frame[column], place, counts)
        start += feature.width
    return encoded


def dictionary_for(
    terms: DictionaryTerms,
    features: Mapping[str, Feature],
    public: Source | None,
    whole: Dictionary | None = None,
) -> Dictionary:
    """Return the dictionary the terms describe, fitted on public rows where it has to be.

    Args:
        terms: what the parties agreed on.
        features: the columns.
        public: public rows.
        whole: the dictionary of all public rows, if these are a part of them.
    """
    width = len(encoded_columns(features))
    if whole is None and terms.components is not None and terms.components > width:
        raise TreatyError(f"{terms.components} components cannot come out of {width} columns")
    if not terms.needs_public_rows:
        return bounds_dictionary(terms, features)
    if public is None:
        raise TreatyError(
            "this dictionary has to be fitted on public rows: give some with `public`, or let "
            "treaty fit put it into the treaty first"
        )
    counts = Counts()
    parts: list[FloatArray] = []
    for frame in public.blocks(list(features)):
        try:
            parts.append(encode(features, frame, counts))
        except TreatyError as error:
            raise TreatyError(f"{public.label}: {error}") from error
        counts.rows += len(frame)
    rows = np.concatenate(parts) if parts else np.empty((0, width))
    return fit_dictionary(terms, features, rows, whole)


def _check_enough(source: Source, counts: Counts) -> None:
    if counts.rows == 0:
        raise TreatyError(
            f"{source.label}: there are no records: give some, and check how the owner is written there"
        )
    if counts.rows == 1:
        raise TreatyError(
            f"{source.label}: there is 1 record, and the mean of one record is that record; "
            "at least 2 are needed"
        )


def _chain(
    first: tuple[FloatArray, FloatArray], rest: Iterator[tuple[FloatArray, FloatArray]]
) -> Iterator[tuple[FloatArray, FloatArray]]:
    yield first
    yield from rest
