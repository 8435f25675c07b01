"""Work spread over processes, or over a cluster where one is set up, by joblib."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

from joblib import Parallel, delayed  # pyright: ignore[reportUnknownVariableType]
from joblib._parallel_backends import LokyBackend
from joblib.externals.loky import process_executor
from joblib.parallel import get_active_backend  # pyright: ignore[reportUnknownVariableType]
from threadpoolctl import threadpool_limits

Work = TypeVar("Work")


def spread(
    do: Callable[[Work], object], batches: Sequence[Sequence[Work]], *, processes: int | None
) -> Iterator[tuple[Work, float]]:
    """Do all work, batch by batch; give every piece with the seconds it took, as soon as it is done.

    joblib does the spreading: with `joblib.parallel_config(backend="dask")` a cluster takes over. Every
    process has BLAS on one thread, so that results do not depend on how many there are. What `do`
    returns stays where it is done: what is to be kept, it keeps.

    Args:
        do: does one piece of work; it must be a function that can be sent to another process.
        batches: pieces that had better be done by one process, one after the other.
        processes: how many at once; joblib's default if not given. With one, all is done here.
    """
    if processes == 1:
        with threadpool_limits(1, "blas"):
            for batch in batches:
                for piece in batch:
                    yield from _done(do, [piece])
        return
    one = cast(Any, delayed(_done))
    options: dict[str, Any] = {"return_as": "generator_unordered", "batch_size": 1}
    if isinstance(get_active_backend()[0], LokyBackend):
        # Processes of our own end with us; a cluster's workers are not ours to end.
        options |= {"backend": "loky", "initializer": _end_with, "initargs": (os.getpid(),)}
    parallel = Parallel(n_jobs=processes, **options)
    for finished in cast(Any, parallel(one(do, list(batch)) for batch in batches)):
        yield from finished


def _done(do: Callable[[Work], object], batch: Sequence[Work]) -> list[tuple[Work, float]]:
    finished: list[tuple[Work, float]] = []
    with threadpool_limits(1, "blas"):
        for piece in batch:
            begun = time.perf_counter()
            do(piece)
            finished.append((piece, time.perf_counter() - begun))
    return finished


def _end_with(parent: int) -> None:
    """End this process when the one that asked for the work has ended, however it did.

    Where psutil is installed, loky takes records that a process keeps for later work for a memory leak,
    and replaces the process, which then has to read them again. It is told not to look.
    """
    process_executor._USE_PSUTIL = False  # pyright: ignore[reportPrivateUsage]

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
