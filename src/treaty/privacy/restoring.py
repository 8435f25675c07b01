"""Putting a backup in place of a ledger that is lost or damaged.

What was answered after the backup is not in it. So every grant that was open is closed and counts as
spent in full. If more had been granted since, as the mark or the ledger that stands there tells, that
counts as spent as well; without a mark, all that any known cap allows does.
"""

import itertools
from fractions import Fraction
from pathlib import Path

from treaty.errors import TreatyError
from treaty.logbook.logbook import beside, put_in_place
from treaty.logbook.mark import write_mark
from treaty.privacy.budget import Budget
from treaty.privacy.durable import Dataset, DurableLedger, mark_of, standing_mark
from treaty.private_files import write_private

Total = tuple[Fraction, Fraction]


def restore(path: Path, backup: Path, dataset: Dataset, cap: Budget) -> Fraction:
    """Put a backup in place of a ledger; return the ε that counts as lost. What was there is kept.

    Args:
        path: where the ledger belongs.
        backup: the copy.
        dataset: the records, as they must be in the end.
        cap: the policy's.
    """
    unfinished = path.with_name(path.name + ".restored")
    for left in (unfinished, *beside(unfinished)):
        left.unlink(missing_ok=True)
    source = DurableLedger(backup, marked=False)
    try:
        source.verify()
        source.copy(unfinished)
    finally:
        source.close()
    copy = DurableLedger(unfinished, marked=False)
    try:
        lost, mark = copy.close_all(dataset, _known_totals(path, copy.cap, cap))
    finally:
        copy.close()
    _keep_aside(path)
    # Until the mark is replaced, the old one refuses the new ledger: never the other way round.
    put_in_place(unfinished, path)
    write_mark(mark_of(path), mark)
    return lost


def _known_totals(path: Path, backup_cap: Total, cap: Budget) -> list[Total]:
    """Return all that is known of what was granted or spent by the ledger that belongs to a place."""
    mark, standing = standing_mark(path), _standing(path)
    totals = [total for _, total in standing]
    if mark is not None:
        return [*totals, (Fraction(mark.total["epsilon"]), Fraction(mark.total["delta"]))]
    caps = [known_cap for known_cap, _ in standing]
    return [*totals, *caps, backup_cap, (Fraction(cap.epsilon), Fraction(cap.delta))]


def _standing(path: Path) -> list[tuple[Total, Total]]:
    """Return the cap and the total of the ledger that stands at a place, if it can be read."""
    try:
        there = DurableLedger(path, marked=False)
    except TreatyError:
        return []
    try:
        return [(there.cap, there.committed())]
    except (TreatyError, ValueError, ArithmeticError):
        return []
    finally:
        there.close()


def _keep_aside(path: Path) -> None:
    """Copy what stands at a place, and what SQLite left beside it, under new names."""
    number = next(
        n for n in itertools.count(1) if not path.with_name(f"{path.name}.replaced{n}").exists()
    )
    for file in (path, *beside(path), mark_of(path)):
        if file.exists():
            kept = file.with_name(f"{file.name}.replaced{number}")
            write_private(kept, file.read_bytes())
    for file in beside(path):
        file.unlink(missing_ok=True)
