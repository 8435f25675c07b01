"""Step sizes: the papers give none, so one is chosen for each experiment, on public rows alone."""

import math
from collections.abc import Sequence

import numpy as np

from treaty.fitness import RowRisk, optimum
from treaty.fitness.yardstick import Yardstick
from treaty.reproduce.setting import Setting
from treaty.reproduce.trial import Noise, Trial
from treaty.simulation import simulate

PACES = tuple(float(pace) for pace in 2.0 ** np.arange(-8, 4))
"""The steps tried, in multiples of 1/smoothness of the public rows."""
RUNS = 20
CLIPPED_ROWS = 500
"""On so many public rows the effect of clipping is estimated here."""


def chosen_step(
    setting: Setting,
    noise: Noise,
    sizes: tuple[int, ...] | None,
    budgets: Sequence[float],
    seed: int = 0,
) -> float:
    """Return the c₁ or ρ with the least geometric mean of ψ over some budgets, on public rows.

    That is in the papers' favour: they say nothing about theirs.
    """
    public = setting.public
    rows = public.in_single_precision() if isinstance(public, RowRisk) else public
    stick = Yardstick(setting.problem, rows, optimum(setting.problem, public))
    if noise == "corrected" and math.isfinite(setting.clip):
        x, y = setting.lab.public
        whole = RowRisk(setting.clipped_problem.loss, x, y).gradient(setting.public_model)
        few = RowRisk(setting.loss, x[:CLIPPED_ROWS], y[:CLIPPED_ROWS])
        rows = setting.clipped({"public": whole}, few, setting.public_model)["public"]
    scores: dict[int, float] = {}

    def score(at: int) -> float:
        if at in scores:
            return scores[at]
        step = step_of(setting, PACES[at], sizes)
        psi: list[float] = []
        for epsilon in budgets:
            plan = setting.plan(Trial(setting.name, sizes, (epsilon,), noise, step))
            everybody = {party.name: rows for party in plan.parties}
            psi.append(simulate(plan, everybody, runs=RUNS, seed=seed, measured_with=stick).mean)
        scores[at] = float(np.log(np.maximum(psi, 1e-12)).mean())
        return scores[at]

    # Every second one first, then those beside the best.
    best = min(range(0, len(PACES), 2), key=score)
    beside = [at for at in (best - 1, best, best + 1) if 0 <= at < len(PACES)]
    return step_of(setting, PACES[min(beside, key=score)], sizes)


def step_of(setting: Setting, pace: float, sizes: tuple[int, ...] | None) -> float:
    """Return c₁ = pace/L, or the ρ for which Nρ/(T²σ)·max n_i/n = pace/L; L is the smoothness."""
    problem = setting.problem
    smoothness = setting.geometry.smoothness
    if setting.synchronous:
        return pace / smoothness
    records = np.array(list(setting.holdings(sizes).records.values()), dtype=float)
    share = float(records.max() / records.sum())
    return pace / smoothness / share * setting.horizon**2 * problem.ridge / len(records)
