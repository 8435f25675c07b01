"""Rehearsal: the real algorithm, with the noise of the real plan, on stand-in rows."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from treaty.arrays import FloatArray
from treaty.evidence import Stage
from treaty.fitness import RowRisk
from treaty.forecasting.ratio import ratio
from treaty.learners import PublicView, view_of
from treaty.learners.axes import axes_of
from treaty.measures import Estimate
from treaty.plans import Plan
from treaty.simulation import differing_by_chance, simulate

TRAININGS = 100
"""An interval is for the mean of so many trainings."""
MOST_RUNS = 2_000
Result = TypeVar("Result")


@dataclass(frozen=True)
class Rehearsal:
    """What a plan would come to, as far as it has been rehearsed.

    Args:
        psi: the expected ψ, for the mean of a hundred trainings.
        optimisation: what would be left without any noise.
        noise: what the noise adds.
        runs: how many runs it took.
        done: which share of the work is done, as far as can be told; 1 at the end.
    """

    psi: Estimate
    optimisation: float
    noise: float
    runs: int
    done: float = 1.0


def rehearsals(
    plan: Plan,
    stages: Sequence[Stage],
    *,
    total: int | None = None,
    public_rows: int | None = None,
    precision: float = 0.02,
    runs: int = 24,
    seed: int = 0,
) -> Iterator[Rehearsal]:
    """Run a plan on every fold, with its own n_i, ε_i, T, mechanism, caps and clocks.

    After every fold it is said what is known by then; `concluded` waits for the end.

    Args:
        plan: the plan, with its step sizes.
        stages: the folds.
        total: how many records it is judged on, if they are more than the plan's parties hold.
        public_rows: how many public rows the learner has, if it begins at their model. Starts are then
            drawn as far from the optimum as models of so many rows are.
        precision: the relative Monte-Carlo error to reach, as far as 2,000 runs do.
        runs: how many runs on each fold to begin with.
        seed: of clocks, noise and starts. Plans rehearsed under one seed share their randomness.
    """
    work = _Work(plan, stages, total or plan.total, public_rows, seed)
    done, performed = 0.0, 0
    while True:
        for index in range(len(stages)):
            work.rehearse(index, runs)
            work.rehearse_silently(index, runs)
            performed += runs
            if len(work.noisy) < min(2, len(stages)):
                continue
            more = work.runs_needed(precision, runs)
            if more is None and index == len(stages) - 1:
                yield work.so_far(1.0)
                return
            left = (len(stages) - 1 - index) * runs + len(stages) * (more or 0)
            done = max(done, performed / (performed + left))
            yield work.so_far(done)
        runs = work.runs_needed(precision, runs) or runs


def concluded(results: Iterable[Result]) -> Result:
    """Return the last of results that narrow: the finished one."""
    *_, last = results
    return last


def expected(
    plan: Plan, stages: Sequence[Stage], *, precision: float = 0.02, runs: int = 24, seed: int = 0
) -> Estimate:
    """Return the expected ψ of a learner that begins at 0, noise and optimisation not told apart.

    Args:
        plan: the plan, with its step sizes.
        stages: the folds.
        precision: as in `rehearsals`.
        runs: as in `rehearsals`.
        seed: as in `rehearsals`.
    """
    work = _Work(plan, stages, plan.total, None, seed)
    more: int | None = runs
    while more is not None:
        runs = more
        for index in range(len(stages)):
            work.rehearse(index, runs)
        more = work.runs_needed(precision, runs)
    return work.psi(0.0)


class _Work:
    """The costs f(θ) − f(θ*) of every run on every fold that has been rehearsed so far."""

    def __init__(
        self,
        plan: Plan,
        stages: Sequence[Stage],
        total: int,
        public_rows: int | None,
        seed: int,
    ) -> None:
        self._plan, self._silent_plan = plan, plan.silent()
        self._stages, self._total, self._seed = stages, total, seed
        self._public_rows = public_rows if plan.begin != "zero" else None
        # Without noise all runs are one, unless clocks or starts differ.
        self._chance = self._public_rows is not None or not plan.synchronous
        self.noisy: dict[int, FloatArray] = {}
        self._silent: dict[int, FloatArray] = {}

    def rehearse(self, index: int, runs: int) -> None:
        """Run the plan so many times on one fold."""
        self.noisy[index] = self._costs(self._plan, index, runs)

    def rehearse_silently(self, index: int, runs: int) -> None:
        """Run it without noise: the same clocks and starts."""
        if self._chance:
            self._silent[index] = self._costs(self._silent_plan, index, runs)
        elif index not in self._silent:
            self._silent[index] = self._costs(self._silent_plan, index, 2)

    def _costs(self, plan: Plan, index: int, runs: int) -> FloatArray:
        stage, seed = self._stages[index], self._seed + index
        start = plan.start
        if self._public_rows is not None and not stage.informed:
            draws = np.random.default_rng([seed, 7]).standard_normal((runs, plan.problem.dimension))
            off = math.sqrt(1 / self._public_rows + (1 - stage.at_hand) / self._total)
            start = stage.centre + off * (draws @ stage.costs.spread.T)
        view = self._view(stage)
        axes = plan.problem.axes
        if view is not None and axes is not None and not stage.informed:
            # Found in the fold's own features, as the treaty's are in its own.
            along = plan.problem.along(axes_of(view, plan.problem.ridge, axes.shape[1]))
            plan = replace(plan, problem=along)
        plan = replace(plan, start=start, public=view)
        records = stage.records(plan.problem.loss)
        result = simulate(
            plan,
            records,
            runs=runs,
            seed=seed,
            measured_with=stage.stick,
            offsets=self._offsets(stage, runs, seed),
        )
        return result.final * stage.stick.best.value

    def _offsets(self, stage: Stage, runs: int, seed: int) -> FloatArray | None:
        """Return how owners differ by chance, unless their records were drawn one by one."""
        if stage.own_costs is not None:
            return None
        loss, rows = self._plan.problem.loss, stage.everybody
        everybody = RowRisk(loss, rows.x, rows.y)
        return differing_by_chance(self._plan, everybody, stage.centre, runs, seed, stage.own)

    def _view(self, stage: Stage) -> PublicView | None:
        """What public rows of the fold's own population would tell the learner about answers."""
        if not self._plan.learner_class.needs_public_rows:
            return None
        if stage.informed:
            return self._plan.public
        problem = self._plan.problem
        pull = problem.ridge * np.eye(problem.dimension)
        rows = stage.everybody.risk(problem)
        return view_of(problem, rows, stage.centre, pull, self._public_rows)

    def runs_needed(self, precision: float, runs: int) -> int | None:
        """Return how many runs on every fold a precision takes, if more than there have been."""
        folds = len(self._stages)
        mean, within = self._mean(), self._within()
        drawn = runs * folds
        if mean <= 0 or drawn >= MOST_RUNS or math.sqrt(within / drawn) <= precision * mean:
            return None
        needed = within / (precision * mean) ** 2 / folds
        return int(min(MOST_RUNS / folds + 1, max(2 * runs, 1.1 * needed)))

    def _mean(self) -> float:
        return float(np.mean([costs.mean() for costs in self.noisy.values()]))

    def _within(self) -> float:
        return float(np.mean([costs.var(ddof=1) for costs in self.noisy.values()]))

    def psi(self, start_variance: float) -> Estimate:
        """Return ψ with its interval.

        Args:
            start_variance: the variance that chance in the start brings.
        """
        stages = [self._stages[index] for index in self.noisy]
        fitness = [stage.fitness for stage in stages]
        # Halves of one stand-in, cut again and again, are still that many rows.
        rows = float(np.mean([stage.evidence_rows for stage in stages]))
        means = [float(costs.mean()) for costs in self.noisy.values()]
        within = self._within()
        by_chance = within / float(np.mean([len(costs) for costs in self.noisy.values()]))
        unseen = stages[0].unseen
        psi = ratio(means, fitness, monte_carlo=by_chance, unseen=unseen)
        sampled = ((psi.high - psi.low) / 2 / 1.645) ** 2 * rows / self._total
        extra = within / float(np.mean(fitness)) ** 2 / TRAININGS + start_variance + sampled
        return ratio(means, fitness, extra, by_chance, unseen)

    def so_far(self, done: float) -> Rehearsal:
        """Return what is known by now."""
        scale = float(np.mean([self._stages[index].fitness for index in self.noisy]))
        silent = list(self._silent.values())
        start_variance = 0.0
        if self._public_rows is not None:
            start_variance = float(np.mean([costs.var(ddof=1) for costs in silent])) / scale**2
        psi = self.psi(start_variance)
        optimisation = float(np.mean([costs.mean() for costs in silent])) / scale
        runs = sum(len(costs) for costs in self.noisy.values())
        return Rehearsal(psi, optimisation, psi.value - optimisation, runs, done)
