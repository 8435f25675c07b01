"""The rows a reproduction is made on: the public files, a part of them, or rows made in their place."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from treaty.errors import TreatyError
from treaty.papers.lab import Lab
from treaty.studies import fraud, hospital, lending
from treaty.studies.study import RowsKind, Study

StudyName = Literal["lending", "fraud", "hospital"]
FEWEST = 2_000
"""Fewer rows say nothing about experiments with hundreds of thousands."""
_FULL = {
    "lending": lending.FULL_ROWS,
    "fraud": fraud.FULL_ROWS,
    "hospital": hospital.FULL_ROWS,
}
_MAKES: dict[StudyName, Callable[[int, int], pl.DataFrame]] = {
    "lending": lending.generate,
    "fraud": fraud.generate,
    "hospital": hospital.generate,
}


@dataclass(frozen=True)
class Rows:
    """Where a reproduction's rows come from.

    Rows of a file with less than nine tenths of the papers' ones are a part. Loans stay in the order of
    the file, in which neighbours are alike, as the papers have them. Parts of the others come in an
    order that means nothing, so they are shuffled; and frauds beyond their natural rate are left out.

    Args:
        lending: LendingClub's file, or a part of it; without one, rows are made.
        fraud: the card transactions, likewise.
        hospital: SPARCS discharges, one file or several, likewise.
        one_hot: whether categories get a column each instead of integers, as the papers have them.
        share: of rows that are made: how many of the full number.
        seed: of rows that are made, shuffled, left out or drawn.
    """

    lending: Path | None = None
    fraud: Path | None = None
    hospital: tuple[Path, ...] = ()
    one_hot: bool = False
    share: float = 1.0
    seed: int = 0

    def lab(self, name: StudyName) -> Lab:
        """Return a study's rows, ready to be dealt out."""
        files = self.files(name)
        frame, kind = self._frame(name, files)
        shuffled = kind == "partial" and name != "lending"
        if shuffled:
            frame = frame.sample(fraction=1.0, shuffle=True, seed=self.seed)
        if len(frame) < FEWEST:
            raise TreatyError(
                f"{files[0] if files else name}: {len(frame):,} rows are too few: at least "
                f"{FEWEST:,} are needed"
            )
        lab = Lab(replace(_study(name, frame, kind, self.one_hot), shuffled=shuffled))
        # Results are kept under a hash of the rows as encoded. The last digits of a sum depend on how
        # many threads share it, so every process encodes with one.
        with threadpool_limits(1, "blas"):
            _ = lab.fingerprint
        return lab

    def files(self, name: StudyName) -> tuple[Path, ...]:
        """Return the files of a study."""
        if name == "hospital":
            return self.hospital
        file = self.lending if name == "lending" else self.fraud
        return () if file is None else (file,)

    def _frame(self, name: StudyName, files: Sequence[Path]) -> tuple[pl.DataFrame, RowsKind]:
        if not files:
            return _MAKES[name](round(self.share * _FULL[name]), self.seed), "generated"
        if name == "hospital":
            frame = hospital.read(files)
        else:
            frame = (lending.read if name == "lending" else fraud.read)(files[0])
        if len(frame) >= 0.9 * _FULL[name]:
            return frame, "full"
        if name == "fraud":
            frame = _at_natural_rate(frame, self.seed)
        return frame, "partial"


def _study(name: StudyName, frame: pl.DataFrame, kind: RowsKind, one_hot: bool) -> Study:
    if name == "lending":
        return lending.study(frame, kind, one_hot=one_hot)
    if name == "hospital":
        return hospital.study(frame, kind, one_hot=one_hot)
    return fraud.study(frame, kind)


def _at_natural_rate(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Leave frauds out where a part holds more than their natural share."""
    is_fraud = frame["Class"].to_numpy() == 1
    wanted = fraud.FRAUDS * float((~is_fraud).sum()) / (1 - fraud.FRAUDS)
    if is_fraud.sum() <= 1.5 * wanted:
        return frame
    drawn = np.random.default_rng(seed).random(len(frame)) < wanted / float(is_fraud.sum())
    return frame.filter(pl.Series(~is_fraud | drawn))
