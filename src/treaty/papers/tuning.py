"""Step sizes: the papers give none, so one is chosen for each experiment, on public rows alone."""

import math
from collections.abc import Sequence

import numpy as np

from treaty.fitness import RowRisk, Yardstick, optimum
from treaty.papers.setting import Setting
from treaty.papers.trial import Noise, Trial
from treaty.plans import Plan
from treaty.trials import best_step

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
        rows = setting.clipped(few, setting.public_model).of(whole)

    def plans(step: float) -> list[Plan]:
        return [
            setting.plan(Trial(setting.name, sizes, (epsilon,), noise, step)) for epsilon in budgets
        ]

    steps = [step_of(setting, pace, sizes) for pace in PACES]
    return best_step(steps, plans, rows, stick, runs=RUNS, seed=seed)


def step_of(setting: Setting, pace: float, sizes: tuple[int, ...] | None) -> float:
    """Return c₁ = pace/L, or the ρ for which Nρ/(T²σ)·max n_i/n = pace/L; L is the smoothness."""
    problem = setting.problem
    smoothness = setting.geometry.smoothness
    if setting.synchronous:
        return pace / smoothness
    records = np.array(list(setting.holdings(sizes).records.values()), dtype=float)
    share = float(records.max() / records.sum())
    return pace / smoothness / share * setting.horizon**2 * problem.ridge / len(records)
