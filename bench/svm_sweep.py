"""Averaged sub-gradient, T = 100, 100 runs, 3 owners × 30,000 card rows, hinge loss.

`over_gemm`: time over that of the two matrix products that each step needs, same rows, same blocks
or one large product, whichever is faster.
"""

import numpy as np

from bench.records import cards
from bench.report import best_seconds, finish
from treaty import Budget, Party, Plan, Problem, risk_of, simulate, yardstick
from treaty.losses import Hinge

OWNERS, ROWS, T, RUNS = 3, 30_000, 100, 100


def main() -> None:
    task = cards()
    rows = {f"bank {i}": task.resampled(ROWS, seed=i) for i in range(OWNERS)}
    problem = Problem(Hinge(), task.domain, 1.0, 2.0, task.intercept)
    parties = tuple(Party(name, ROWS, Budget(1.0)) for name in rows)
    plan = Plan(problem, parties, "averaged-subgradient", T)
    risks = {name: risk_of(problem.loss, x, y) for name, (x, y) in rows.items()}
    stick = yardstick(problem, risks)
    print(f"{task.source}, resampled to {OWNERS} x {ROWS:,}; p = {problem.dimension}")
    results = []
    seconds = best_seconds(
        lambda: results.append(simulate(plan, risks, runs=RUNS, seed=1, measured_with=stick))
    )
    transposed = np.ascontiguousarray(results[-1].models.T)

    def products(block: int) -> None:
        for _ in range(T - 1):
            for x, _ in rows.values():
                for start in range(0, ROWS, block):
                    part = x[start : start + block]
                    scores = part @ transposed
                    scores.T @ part

    timed = {block: best_seconds(lambda b=block: products(b), 2) for block in (1310, 8192, ROWS)}
    gemm = min(timed.values())
    shown = ", ".join(f"{block:,}: {taken:.2f} s" for block, taken in timed.items())
    print(
        f"mean psi {results[-1].mean:.4g}; {seconds:.2f} s; two products by block of rows {shown}"
    )
    finish(over_gemm=round(seconds / gemm, 2), seconds=round(seconds, 3))


if __name__ == "__main__":
    main()
