"""Who runs a reproduction's jobs: this process, several, or a cluster."""

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path

from joblib.externals.loky.process_executor import TerminatedWorkerError

from treaty.errors import TreatyError
from treaty.papers.rows import Rows
from treaty.papers.trial import Step, Trial
from treaty.papers.workshop import Workshop
from treaty.trials import Store, spread

Job = Step | Trial
TOGETHER = 6
"""So many trials on the same owners go to one process: what they share is computed once."""


def fill(
    workshop: Workshop, jobs: Sequence[Job], processes: int | None
) -> Iterator[tuple[Job, float]]:
    """Run jobs whose results are not in the store yet; yield each with the seconds it took.

    Args:
        workshop: whose store is filled.
        jobs: the jobs.
        processes: how many are run at once. With one, they run in this process.
    """
    if processes == 1 or len(jobs) < 2:
        yield from spread(partial(_run, workshop), [jobs], processes=1)
        return
    made_of = (workshop.rows, workshop.store.folder.resolve(), workshop.runs, workshop.seed)
    work = partial(_run_elsewhere, *made_of)
    try:
        yield from spread(work, _batches(workshop, jobs), processes=processes)
    except TerminatedWorkerError as error:
        raise TreatyError(
            "a process ended before its work was done; run again, what was finished is kept"
        ) from error


def _batches(workshop: Workshop, jobs: Sequence[Job]) -> list[list[Job]]:
    """Put trials on the same owners together, the longest batches first."""
    alike: dict[object, list[Job]] = {}
    for job in jobs:
        alike.setdefault((type(job), job.setting, job.sizes), []).append(job)
    made = [
        group[start : start + TOGETHER]
        for group in alike.values()
        for start in range(0, len(group), TOGETHER)
    ]
    return sorted(made, key=lambda batch: -sum(workshop.cost(job) for job in batch))


@lru_cache(maxsize=1)
def _workshop(rows: Rows, folder: Path, runs: int, seed: int) -> Workshop:
    """Return the workshop of a process that works for another; its rows are read once."""
    return Workshop(rows, Store(folder), runs=runs, seed=seed)


def _run_elsewhere(rows: Rows, folder: Path, runs: int, seed: int, job: Job) -> None:
    _run(_workshop(rows, folder, runs, seed), job)


def _run(workshop: Workshop, job: Job) -> None:
    if isinstance(job, Step):
        workshop.step(job)
    else:
        workshop.run(job)
