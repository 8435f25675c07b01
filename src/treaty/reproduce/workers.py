"""Several processes that fill a store, one core each."""

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from pathlib import Path

from threadpoolctl import threadpool_limits

from treaty.errors import TreatyError
from treaty.reproduce.rows import Rows
from treaty.reproduce.store import Store
from treaty.reproduce.trial import Step, Trial
from treaty.reproduce.workshop import Workshop

Job = Step | Trial
TOGETHER = 6
"""So many trials on the same owners go to one process: what they share is computed once."""

_own: Workshop | None = None
"""The workshop of a worker process."""


class Workers:
    """Runs jobs whose results are not there yet. A context manager: its processes end with it.

    Every process has BLAS on one thread, so that results do not depend on how many there are.

    Args:
        workshop: whose store is filled.
        processes: how many jobs are run at once. With one, they run in this process.
    """

    def __init__(self, workshop: Workshop, processes: int) -> None:
        self._workshop = workshop
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        if self._pool is None:
            return
        self._pool.shutdown(wait=failed is None, cancel_futures=True)
        if failed is not None:
            # What is being run is lost; what was finished is in the store.
            for process in active_children():
                process.terminate()

    def fill(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, float]]:
        """Run jobs; yield each with the seconds it took."""
        if self._processes == 1 or len(jobs) < 2:
            with threadpool_limits(1, "blas"):
                for job in jobs:
                    yield job, _timed(self._workshop, job)
            return
        if self._pool is None:
            w = self._workshop
            self._pool = ProcessPoolExecutor(
                self._processes,
                get_context("spawn"),
                initializer=_open,
                initargs=(w.rows, w.store.folder, w.runs, w.seed, os.getpid()),
            )
        waiting = [self._pool.submit(_do, batch) for batch in _batches(self._workshop, jobs)]
        try:
            for finished in as_completed(waiting):
                yield from finished.result()
        except BrokenProcessPool as error:
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


def _open(rows: Rows, folder: Path, runs: int, seed: int, parent: int) -> None:
    global _own
    # Whoever interrupts the program means the process that asked for the work.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    threadpool_limits(1, "blas")
    _own = Workshop(rows, Store(folder), runs=runs, seed=seed)


def _end_with(parent: int) -> None:
    """End this process when the one that asked for the work has ended, however it did."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _do(batch: list[Job]) -> list[tuple[Job, float]]:
    assert _own is not None
    return [(job, _timed(_own, job)) for job in batch]


def _timed(workshop: Workshop, job: Job) -> float:
    begun = time.perf_counter()
    if isinstance(job, Step):
        workshop.step(job)
    else:
        workshop.run(job)
    return time.perf_counter() - begun
