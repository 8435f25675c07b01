"""The step size that does best in simulated trainings on public rows."""

from collections.abc import Callable, Sequence

import numpy as np

from treaty.fitness import Risk, Yardstick
from treaty.plans import Plan
from treaty.simulation import simulate


def best_step(
    steps: Sequence[float],
    plans: Callable[[float], Sequence[Plan]],
    records: Risk,
    stick: Yardstick,
    *,
    runs: int = 20,
    seed: int = 0,
) -> float:
    """Return the step with the least geometric mean of ψ over some plans.

    Every second step is tried first, then those beside the best.

    Args:
        steps: the steps in question, in order.
        plans: the plans that one step has to serve, at a step.
        records: public rows, which stand for every party's records.
        stick: what ψ is measured with.
        runs: how many runs of every plan.
        seed: of clocks and noise.
    """
    scores: dict[int, float] = {}

    def score(at: int) -> float:
        if at not in scores:
            psi = [
                simulate(
                    plan,
                    dict.fromkeys((party.name for party in plan.parties), records),
                    runs=runs,
                    seed=seed,
                    measured_with=stick,
                ).mean
                for plan in plans(steps[at])
            ]
            scores[at] = float(np.log(np.maximum(psi, 1e-12)).mean())
        return scores[at]

    best = min(range(0, len(steps), 2), key=score)
    beside = [at for at in (best - 1, best, best + 1) if 0 <= at < len(steps)]
    return steps[min(beside, key=score)]
