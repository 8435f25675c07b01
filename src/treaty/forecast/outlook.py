"""A treaty made ready to be forecast, and to be forecast again with other plans."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treaty.errors import TreatyError
from treaty.fitness import Risk, RowRisk, model_alone
from treaty.forecast.estimate import Estimate, above_zero, ratio
from treaty.forecast.rehearsal import Rehearsal, rehearse
from treaty.forecast.stage import FEWEST_OWN, Stage, stages
from treaty.forecast.stand_in import (
    Kind,
    StandIn,
    cross_fitted,
    dictionary_of,
    generated_stand_in,
    read_stand_in,
    with_records_of,
)
from treaty.learners import Plan, learner_for
from treaty.records import Source
from treaty.terms import Treaty, plan_of

FOLDS = 10


@dataclass(frozen=True, eq=False)
class Outlook:
    """Everything that forecasts of one treaty and of plans near it share.

    Args:
        plan: the plan, with its step sizes.
        ready: the folds of the stand-in.
        evidence: what stands in for the records.
        rows: how many stand-in rows.
        public_rows: how many public rows the learner has.
        from_public: whether it begins at their model.
        learnt_from: the rows that step sizes are derived from.
        given: step sizes and the like that the treaty itself states.
        alike: whether owners are assumed to be alike.
        unknown: where they are told apart: owners the stand-in has too few rows of.
    """

    plan: Plan
    ready: tuple[Stage, ...]
    evidence: Kind
    rows: int
    public_rows: int | None
    from_public: bool
    learnt_from: Risk
    given: Mapping[str, float]
    alike: bool = True
    unknown: tuple[str, ...] = ()

    def rehearse(self, plan: Plan, *, precision: float = 0.02, seed: int = 0) -> Rehearsal:
        """Rehearse a plan near this one: other budgets, sizes or parties, the same step sizes."""
        begin = self.public_rows if self.from_public else None
        return rehearse(plan, self.ready, public_rows=begin, precision=precision, seed=seed)

    @property
    def fitness(self) -> float:
        """f(θ*), averaged over the folds."""
        return float(np.mean([stage.fitness for stage in self.ready]))

    def rehearse_coalition(
        self, members: Sequence[str], *, precision: float = 0.02, seed: int = 0
    ) -> Rehearsal:
        """Rehearse some of the parties, judged on everybody's records; steps are derived anew."""
        some = tuple(party for party in self.plan.parties if party.name in members)
        plan = with_steps(
            replace(self.plan.with_parties(some), parameters=self.given),
            self.learnt_from,
            self.from_public,
        )
        return rehearse(
            plan,
            self.ready,
            total=sum(party.records for party in self.plan.parties),
            public_rows=self.public_rows if self.from_public else None,
            precision=precision,
            seed=seed,
        )

    def own_model(self, plan: Plan, name: str) -> Estimate:
        """Return ψ of an owner's own model over all of a plan's records."""
        if name in self.ready[0].own:
            above = [stage.own[name] - stage.fitness for stage in self.ready]
            told = ratio(above, [stage.fitness for stage in self.ready])
            return above_zero(told)
        records = np.array([party.records for party in plan.parties])
        index = [party.name for party in plan.parties].index(name)
        apart = [float(stage.apart[index]) for stage in self.ready]
        share = 1 / int(records[index]) - 1 / int(records.sum())
        told, as_others = self.sampled(share, apart), self.sampled(share, [0.0] * len(apart))
        # Differences are never below 0: where they may be chance, the owner may be like the others.
        if 2 * told.value - told.high <= as_others.value:
            return replace(told, low=min(told.low, as_others.low))
        return told

    def public_model(self, total: int) -> Estimate | None:
        """Return ψ of the model of the public rows, if there are any, over so many records."""
        if self.public_rows is None:
            return None
        apart = [stage.public - stage.fitness - stage.sampling / total for stage in self.ready]
        return self.sampled(1 / self.public_rows + 1 / total, apart)

    def sampled(self, share: float, apart: Sequence[float]) -> Estimate:
        """Return ψ of a model of a sample: ½ tr(H⁻¹G) · share, as lucky as samples are.

        Args:
            share: 1/n_i − 1/n for one of the owners, 1/m + 1/n for m rows of nobody's.
            apart: what the rows it was drawn from differ by, fold by fold.
        """
        chance = [stage.sampling * share for stage in self.ready]
        total = [c + d for c, d in zip(chance, apart, strict=True)]
        luck = float(np.mean([0.5 * np.sum((stage.spectrum * share) ** 2) for stage in self.ready]))
        return ratio(total, [stage.fitness for stage in self.ready], luck / self.fitness**2)


def outlook(
    treaty: Treaty,
    stand_in: Source | None = None,
    *,
    private: bool = False,
    by: str | None = None,
    own: Mapping[str, Source] | None = None,
    generate: bool = False,
    public_rows: int | None = None,
    folds: int = FOLDS,
) -> Outlook:
    """Make a treaty ready to be forecast.

    Args:
        treaty: the treaty.
        stand_in: rows that stand in for the owners' records.
        private: whether they are somebody's private ones; the result must then not leave.
        by: the column that says whose each row is, where owners differ.
        own: the very records of parties, by name, inside their own walls: the result must not leave.
        generate: without rows: make some up from the treaty's bounds, the weakest evidence.
        public_rows: how many public rows the learner has; all of a public stand-in if not given.
        folds: into how many parts the stand-in is cut.
    """
    if stand_in is not None and generate:
        raise TreatyError("--stand-in and --generate exclude each other")
    if public_rows is not None and public_rows < 1:
        raise TreatyError(f"--public-rows must be at least 1, not {public_rows}")
    if stand_in is not None:
        rows = read_stand_in(treaty.features, treaty.target, stand_in, private=private, by=by)
    elif generate:
        rows = generated_stand_in(treaty.features, treaty.target)
    else:
        raise TreatyError(
            "a forecast needs rows to stand in for the records: give a file with --stand-in, "
            "or --generate rows from the treaty's bounds alone"
        )
    names = [party.name for party in treaty.parties]
    for name, source in (own or {}).items():
        if name not in names:
            raise TreatyError(f"--own names {name}, who is not a party to this treaty")
        rows = with_records_of(rows, name, treaty.features, treaty.target, source)
    fitted = treaty.fitted or dictionary_of(treaty.dictionary, treaty.features, rows)
    plan = plan_of(treaty.model_copy(update={"fitted": fitted}))
    if public_rows is None and rows.kind == "public":
        public_rows = rows.rows
    if public_rows is None and treaty.fitted is not None and treaty.fitted.public_rows:
        public_rows = treaty.fitted.public_rows
    from_public = treaty.training.start == "public"
    if from_public and public_rows is None:
        raise TreatyError(
            "training.start: the learner begins at the public model: say of how many rows, "
            "with --public-rows"
        )
    x, _ = fitted.apply(rows.encoded)
    learnt_from = RowRisk(plan.problem.fitness_loss, np.ascontiguousarray(x), rows.target)
    given = plan.parameters
    plan = with_steps(plan, learnt_from, from_public)
    parts = cross_fitted(treaty.dictionary, treaty.features, fitted, rows, folds)
    ready = tuple(stages(plan, parts))
    return Outlook(
        plan=plan,
        ready=ready,
        evidence="private" if own else rows.kind,
        rows=rows.rows,
        public_rows=public_rows,
        from_public=from_public,
        learnt_from=learnt_from,
        given=given,
        alike=by is None,
        unknown=() if rows.owner is None else _unknown(plan, rows),
    )


def _unknown(plan: Plan, rows: StandIn) -> tuple[str, ...]:
    """Return the parties that too few rows are of, in halves of the stand-in."""
    assert rows.owner is not None
    of = [int(np.sum(rows.owner == party.name)) for party in plan.parties]
    if not any(of):
        seen = ", ".join(sorted(set(rows.owner.tolist()))[:3])
        raise TreatyError(
            f"--by: no row of the stand-in is of a party to this treaty; the column has {seen}, …"
        )
    names = [
        party.name for party, count in zip(plan.parties, of, strict=True) if count < 2 * FEWEST_OWN
    ]
    return tuple(name for name in names if name not in rows.exact)


def with_steps(plan: Plan, rows: Risk, from_public: bool) -> Plan:
    """Return the plan with the step sizes its learner would derive from these rows."""
    start = model_alone(plan.problem, rows) if from_public else None
    learner = learner_for(plan, public=rows, start=start)
    return replace(plan, parameters={**plan.parameters, **learner.step_sizes})
