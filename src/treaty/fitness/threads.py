"""One thread a share of the rows, each with single-threaded BLAS.

Left to itself BLAS spreads every small product over all cores and leaves what lies between the
products to one. Cutting the rows instead keeps all cores busy with both. As many threads are used
as BLAS was allowed, so that joblib's workers, which lower that number, are respected.
"""

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

MOST_THREADS = 64
"""No more are used: the sums of their shares are added up one after the other."""
SMALL = 1 << 22
"""Below this many multiplications a second thread costs more than it brings."""

Part = TypeVar("Part")


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def _allowed() -> int:
    libraries: Any = _controller().lib_controllers
    allowed = max((int(library.num_threads or 1) for library in libraries), default=1)
    return min(allowed, MOST_THREADS)


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="rows")


def on_one_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS uses one thread: for many small matrices threads only wait.

    It also makes results the same however many cores there are.
    """
    return _controller().limit(limits=1)


def over_shares(rows: int, multiplications: int, work: Callable[[range], Part]) -> list[Part]:
    """Cut `rows` into one contiguous share a thread and return what `work` makes of each."""
    if multiplications < SMALL:
        return [work(range(rows))]
    threads = _allowed()
    if threads == 1:
        return [work(range(rows))]
    ends = [rows * i // threads for i in range(threads + 1)]
    shares = [range(a, b) for a, b in pairwise(ends) if a < b]
    with _controller().limit(limits=1):
        return list(_pool(threads).map(work, shares))
