"""Is a plan the same on an idle machine and on a busy one?

    python -m bench.steady

Four drafts (flights, loans, stays, card rows; 400 public rows) are planned twice on a machine left alone
and twice beside four busy loops, with the same seed: `different`, how many of the plans beside busy
loops are another treaty than the first one; `unlike_idle`, how many of the second idle ones are;
`slower`, how much longer the busy ones took.
"""

import multiprocessing
import time
from collections.abc import Generator
from contextlib import contextmanager

from bench.drafts import Rows, tasks
from bench.report import finish
from treaty.records import FrameSource
from treaty.settings import planning
from treaty.terms import fingerprint, loads
from treaty.terms.draft import draft

PUBLIC = 400
LOOPS = 4


def planned(rows: Rows) -> tuple[str, float]:
    """Return the fingerprint of a plan, and the seconds it took."""
    mixed = rows.frame.sample(fraction=1.0, shuffle=True, seed=1)
    source = FrameSource(mixed[:PUBLIC].drop("owner"))
    owners = {f"owner {number}": 1_000 + 500 * number for number in range(10)}
    document = loads(draft(source, target=rows.target, by=None, owners=owners).text)
    start = time.perf_counter()
    *_, found = planning.plan(document, source)
    return fingerprint(found.treaty), time.perf_counter() - start


def _spin() -> None:
    while True:
        pass


@contextmanager
def busy() -> Generator[None]:
    """Keep the machine busy with loops that do nothing."""
    loops = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(LOOPS)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.join()


def main() -> None:
    """Plan everything four times."""
    every = tasks()
    idle = [{name: planned(rows) for name, rows in every.items()} for _ in range(2)]
    with busy():
        beside = [{name: planned(rows) for name, rows in every.items()} for _ in range(2)]
    for name in every:
        seconds = [f"{run[name][1]:.1f}" for run in (*idle, *beside)]
        print(f"{name}: {', '.join(seconds)} s, {idle[0][name][0][:12]}")
    took = [sum(run[name][1] for run in runs for name in every) for runs in (idle, beside)]
    finish(
        tasks=len(every),
        plans=4 * len(every),
        different=sum(run[name][0] != idle[0][name][0] for run in beside for name in every),
        unlike_idle=sum(idle[1][name][0] != idle[0][name][0] for name in every),
        slower=round(took[1] / took[0], 2),
    )


if __name__ == "__main__":
    main()
