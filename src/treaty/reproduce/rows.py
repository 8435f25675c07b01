"""The rows a reproduction is made on: the public files, a part of them, or rows made in their place."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from treaty.errors import TreatyError
from treaty.reproduce import fraud, hospital, lending
from treaty.reproduce.lab import Lab
from treaty.reproduce.study import Kind, Study
from treaty.reproduce.workshop import StudyName

FEWEST = 2_000
"""Fewer rows say nothing about experiments with hundreds of thousands."""
_FULL = {
    "lending": lending.FULL_ROWS,
    "fraud": fraud.FULL_ROWS,
    "hospital": hospital.FULL_ROWS,
}


def lab_of(
    name: StudyName,
    files: Sequence[Path] = (),
    *,
    one_hot: bool = False,
    share: float = 1.0,
    seed: int = 0,
) -> Lab:
    """Return a study's rows, ready to be dealt out.

    Rows of a file with less than nine tenths of the published ones are a part. A part comes in an order
    that means nothing, so it is shuffled; and frauds beyond their natural rate are left out.

    Args:
        name: the study.
        files: the public file, or a part of it; several for hospitals. Without any, rows are made.
        one_hot: whether categories get a column each instead of integers, as the papers have them.
        share: of rows that are made: how many of the full number.
        seed: of rows that are made, shuffled, left out or drawn.
    """
    frame, kind = _frame(name, files, share, seed)
    if len(frame) < FEWEST:
        raise TreatyError(
            f"{files[0] if files else name}: {len(frame):,} rows are too few: at least {FEWEST:,} are "
            "needed"
        )
    return Lab(_study(name, frame, kind, one_hot), seed)


def _study(name: StudyName, frame: pl.DataFrame, kind: Kind, one_hot: bool) -> Study:
    if name == "lending":
        return lending.study(frame, kind, one_hot=one_hot)
    if name == "hospital":
        return hospital.study(frame, kind, one_hot=one_hot)
    return fraud.study(frame, kind)


def _frame(
    name: StudyName, files: Sequence[Path], share: float, seed: int
) -> tuple[pl.DataFrame, Kind]:
    if not files:
        rows = round(share * _FULL[name])
        made = {"lending": lending.generate, "fraud": fraud.generate, "hospital": hospital.generate}
        return made[name](rows, seed), "generated"
    if name == "hospital":
        frame = hospital.read(files)
    else:
        if len(files) > 1:
            raise TreatyError(f"--{name} takes one file, not {len(files)}")
        frame = (lending.read if name == "lending" else fraud.read)(files[0])
    if len(frame) >= 0.9 * _FULL[name]:
        return frame, "full"
    if name == "fraud":
        frame = _at_natural_rate(frame, seed)
    return frame.sample(fraction=1.0, shuffle=True, seed=seed), "partial"


def _at_natural_rate(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Leave frauds out where a part holds more than their natural share."""
    is_fraud = frame["Class"].to_numpy() == 1
    wanted = fraud.FRAUDS * float((~is_fraud).sum()) / (1 - fraud.FRAUDS)
    if is_fraud.sum() <= 1.5 * wanted:
        return frame
    drawn = np.random.default_rng(seed).random(len(frame)) < wanted / float(is_fraud.sum())
    return frame.filter(pl.Series(~is_fraud | drawn))
