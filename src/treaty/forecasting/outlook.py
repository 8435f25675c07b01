"""A treaty in the light of evidence: ready to be forecast, and forecast again with other plans."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from treaty.evidence import Evidence, Ground, Stage
from treaty.forecasting.ratio import above_zero, between, ratio
from treaty.forecasting.rehearsal import Rehearsal, concluded, rehearsals
from treaty.measures import Estimate
from treaty.plans import Plan
from treaty.terms import Treaty


@dataclass(frozen=True, eq=False)
class Outlook:
    """What forecasts of one treaty, and of plans near it, share.

    Args:
        ground: what evidence says about the treaty.
        title: of the treaty.
    """

    ground: Ground
    title: str = ""

    @property
    def stages(self) -> Sequence[Stage]:
        """The folds of the stand-in."""
        return self.ground.stages

    @cached_property
    def plan(self) -> Plan:
        """The treaty's plan, with the step sizes its learner derives from the stand-in."""
        return self.ground.plan.with_steps()

    @property
    def fitness(self) -> float:
        """f(θ*), averaged over the folds."""
        return float(np.mean([stage.fitness for stage in self.stages]))

    def rehearse(self, plan: Plan, *, precision: float = 0.02, seed: int = 0) -> Rehearsal:
        """Rehearse a plan near the treaty's: other budgets, sizes or parties, the same step sizes."""
        return concluded(
            rehearsals(
                plan,
                self.stages,
                public_rows=self.ground.public_rows,
                precision=precision,
                seed=seed,
            )
        )

    def rehearse_coalition(
        self, members: Sequence[str], *, precision: float = 0.02, seed: int = 0
    ) -> Rehearsal:
        """Rehearse some of the parties, judged on everybody's records; steps are derived anew."""
        some = tuple(party for party in self.plan.parties if party.name in members)
        return concluded(
            rehearsals(
                self.ground.plan.with_parties(some).with_steps(),
                self.stages,
                total=self.plan.total,
                public_rows=self.ground.public_rows,
                precision=precision,
                seed=seed,
            )
        )

    def own_model(self, plan: Plan, name: str) -> Estimate:
        """Return ψ of an owner's own model over all of a plan's records."""
        if name in self.stages[0].own:
            above = [stage.own[name] - stage.fitness for stage in self.stages]
            return above_zero(ratio(above, [stage.fitness for stage in self.stages]))
        records = np.array([party.records for party in plan.parties])
        index = [party.name for party in plan.parties].index(name)
        if self.stages[0].own_costs is not None:
            return self._own_model_between_readings(index)
        differ = [float(stage.difference_costs[index]) for stage in self.stages]
        share = 1 / int(records[index]) - 1 / int(records.sum())
        own, as_others = self.sampled(share, differ), self.sampled(share, [0.0] * len(differ))
        # Differences are never below 0: where they may be chance, the owner may be like the others.
        if 2 * own.value - own.high <= as_others.value:
            return replace(own, low=min(own.low, as_others.low))
        return own

    def _own_model_between_readings(self, index: int) -> Estimate:
        """Return ψ of an own model, from worlds that take the owner's records in two ways."""
        readings: dict[bool, list[float]] = {True: [], False: []}
        for stage in self.stages:
            assert stage.own_costs is not None
            readings[stage.apart[index]].append(float(stage.own_costs[index]) / stage.fitness)
        return between(readings[False], readings[True])

    def public_model(self, total: int) -> Estimate | None:
        """Return ψ of the model of the public rows, if there are any, over so many records."""
        public_rows = self.ground.public_rows
        if public_rows is None:
            return None
        differ = [
            stage.public - stage.fitness - stage.costs.sampling / total for stage in self.stages
        ]
        return self.sampled(1 / public_rows + 1 / total, differ)

    def sampled(self, share: float, differ: Sequence[float]) -> Estimate:
        """Return ψ of a model fitted on a finite sample, ½ tr(H⁻¹G)·share, with its sampling variance.

        Args:
            share: 1/n_i − 1/n for one of the owners, 1/m + 1/n for m rows of nobody's.
            differ: what it costs that the rows it was drawn from differ from everybody's, fold by fold.
        """
        chance = [stage.costs.sampling * share for stage in self.stages]
        total = [c + d for c, d in zip(chance, differ, strict=True)]
        luck = float(
            np.mean([0.5 * np.sum((stage.costs.spectrum * share) ** 2) for stage in self.stages])
        )
        fitness = [stage.fitness for stage in self.stages]
        return ratio(total, fitness, luck / self.fitness**2, unseen=self.stages[0].unseen)


def outlook_on(treaty: Treaty, evidence: Evidence) -> Outlook:
    """Return a treaty in the light of evidence."""
    return Outlook(evidence.ground(treaty), treaty.title)
