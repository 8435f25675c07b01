"""One-at-a-time learning, T = 1,000, 100 runs, 3 owners × 250,000 rows, squared loss.

`speedup`: over a straightforward program that passes over the records at every step of every run.
`over_rng`: over drawing the noise alone.
"""

import numpy as np

from bench.records import lending
from bench.report import best_seconds, finish
from treaty import Budget, Party, Plan, Problem, risk_of, simulate, yardstick
from treaty.losses import Squared
from treaty.privacy import Laplace

OWNERS, ROWS, T, RUNS = 3, 250_000, 1_000, 100
STEPS_TIMED = 20


def main() -> None:
    task = lending()
    rows = {f"bank {i}": task.resampled(ROWS, seed=i) for i in range(OWNERS)}
    problem = Problem(Squared(), task.domain, 2e-5, 1.0, task.intercept)
    parties = tuple(Party(name, ROWS, Budget(1.0)) for name in rows)
    plan = Plan(problem, parties, "one-at-a-time", T)
    p = problem.dimension
    print(f"{task.source}, resampled to {OWNERS} x {ROWS:,}; p = {p}")

    def add_up() -> dict[str, object]:
        return {name: risk_of(problem.loss, x, y) for name, (x, y) in rows.items()}

    risks = {name: risk_of(problem.loss, x, y) for name, (x, y) in rows.items()}
    stick = yardstick(problem, risks)
    results = []
    seconds = best_seconds(
        lambda: results.append(simulate(plan, risks, runs=RUNS, seed=1, measured_with=stick)), 7
    )
    adding = best_seconds(add_up)
    drawing = best_seconds(lambda: Laplace().draw(np.random.default_rng(1), (T, RUNS, p)), 7)

    x, y = rows["bank 0"]
    theta, central, copy = np.zeros(p), np.zeros(p), np.zeros(p)
    random = np.random.default_rng(2)
    scale, step = plan.scales[0], 1e-3

    def plain_steps() -> None:
        nonlocal theta, central, copy
        for _ in range(STEPS_TIMED):
            theta = 0.5 * (central + copy)
            gradient = 2.0 * x.T @ (x @ theta - y) / len(y) + random.laplace(scale=scale, size=p)
            copy = np.clip(theta - step * gradient, -1.0, 1.0)
            central = theta

    plain = best_seconds(plain_steps) / STEPS_TIMED * T * RUNS
    print(f"mean psi {results[-1].mean:.4g}; records added up once in {adding:.3f} s")
    print(
        f"all runs in {seconds:.3f} s (+ {adding:.3f} s); plain program {plain:,.0f} s, "
        f"from {STEPS_TIMED} timed steps scaled by count; noise alone {drawing:.3f} s"
    )
    finish(
        speedup=round(plain / (seconds + adding)),
        over_rng=round(seconds / drawing, 2),
        seconds=round(seconds, 4),
    )


if __name__ == "__main__":
    main()
