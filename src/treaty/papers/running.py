"""How a trial is run, and how it is forecast from public rows."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from treaty.arrays import FloatArray
from treaty.evidence import Stage, StandIn, cross_fitted, stages
from treaty.evidence.folds import Fold, Half
from treaty.fitness import Risk, RowRisk
from treaty.forecasting.rehearsal import expected
from treaty.losses import Loss
from treaty.papers.setting import Setting
from treaty.papers.trial import Outcome, Trial
from treaty.records import Counts
from treaty.records.encoder import encode
from treaty.simulation import simulate

FOLDS = 4
FORECAST_RUNS = 12
FORECAST_PRECISION = 0.15
FORECAST_ROWS = 1_000
"""On so many rows of a fold the effect of clipping is estimated."""


class Runner:
    """Runs the trials of one setting.

    Args:
        setting: the setting.
        runs: how many runs of every trial.
        seed: of clocks and noise.
    """

    def __init__(self, setting: Setting, *, runs: int = 100, seed: int = 0) -> None:
        self.setting = setting
        self.runs = runs
        self.seed = seed

    def run(self, trial: Trial) -> Outcome:
        """Train many times, and forecast what that comes to where it is wanted."""
        setting = self.setting
        result = simulate(
            setting.plan(trial),
            setting.trained_on(trial),
            runs=self.runs,
            seed=self.seed,
            record="every" if trial.every else "final",
            measured_with=setting.stick(trial.sizes),
        )
        p25, median, p75 = result.percentiles(25, 50, 75)
        return Outcome(
            mean=result.mean,
            error=result.standard_error,
            rounds=tuple(result.rounds.tolist()),
            p25=tuple(p25.tolist()),
            median=tuple(median.tolist()),
            p75=tuple(p75.tolist()),
            forecast=self._forecast(trial) if trial.foretold else None,
        )

    def _forecast(self, trial: Trial) -> tuple[float, float, float]:
        """Rehearse the trial's plan on cross-fitted halves of the public rows."""
        plan = self.setting.plan(trial)
        clips = plan.problem is not self.setting.problem
        names = [party.name for party in plan.parties]
        stages: list[Stage] = []
        for stage, fold, fast in zip(self._stages, self._folds, self._fast, strict=True):
            risks = {name: fast.get(name) or next(iter(fast.values())) for name in names}
            if clips:
                risks = self._clipped(risks, fold.judged, stage.centre)
            stages.append(replace(stage, records=_whatever_the_loss(risks)))
        psi = expected(
            plan, stages, precision=FORECAST_PRECISION, runs=FORECAST_RUNS, seed=self.seed + 1
        )
        return psi.value, psi.low, psi.high

    def _clipped(
        self, risks: Mapping[str, Risk], half: Half, centre: FloatArray
    ) -> dict[str, Risk]:
        """Return stand-ins with their gradients clipped, by as much as those of the whole half are."""
        setting, rows = self.setting, half.everybody
        whole = RowRisk(setting.clipped_problem.loss, rows.x, rows.y)
        effect = whole.gradient(centre) - whole.with_loss(setting.loss).gradient(centre)
        few = RowRisk(setting.loss, rows.x[:FORECAST_ROWS], rows.y[:FORECAST_ROWS])
        clipped = setting.clipped(few, centre)
        # Stand-ins that parties share, they go on sharing.
        made = {risk: clipped.of(risk.gradient(centre) + effect) for risk in set(risks.values())}
        return {name: made[risk] for name, risk in risks.items()}

    @cached_property
    def _folds(self) -> list[Fold]:
        study = self.setting.lab.study
        counts = Counts()
        public = study.public
        owner = None if study.by is None else public[study.by].to_numpy().astype(np.str_)
        rows = StandIn(
            encode(study.features, public, counts),
            study.target.encode(public[study.target.column], counts),
            "public",
            owner,
        )
        return cross_fitted(study.terms, study.features, study.encoder.dictionary, rows, FOLDS)

    @cached_property
    def _stages(self) -> list[Stage]:
        """The public rows made ready: of owners that are alike, one stands for all."""
        named = self.setting.lab.study.by is not None
        sizes = None if named else (1_000_000,)
        trial = Trial(self.setting.name, sizes, (math.inf,), "supremum", 1.0)
        return stages(self.setting.problem, self.setting.plan(trial).parties, self._folds)

    @cached_property
    def _fast(self) -> list[dict[str, Risk]]:
        """What stands in for every party, in single precision."""
        return [
            {name: _fast(risk) for name, risk in stage.records(self.setting.loss).items()}
            for stage in self._stages
        ]


def _whatever_the_loss(risks: Mapping[str, Risk]) -> Callable[[Loss], Mapping[str, Risk]]:
    return lambda loss: risks


def _fast(risk: Risk) -> Risk:
    return risk.in_single_precision() if isinstance(risk, RowRisk) else risk
