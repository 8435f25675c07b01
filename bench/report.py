"""How a benchmark times and reports."""

import json
import time
from collections.abc import Callable
from typing import Any


def best_seconds(work: Callable[[], Any], times: int = 3) -> float:
    """Return the shortest of several timings: the least disturbed one on a shared machine."""
    taken: list[float] = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def finish(**figures: Any) -> None:
    """Print the figures as one last JSON line."""
    print(json.dumps(figures))
