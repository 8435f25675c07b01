"""What a collaboration is worth, before anyone trains."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from treaty.errors import TreatyError
from treaty.fitness import pooled
from treaty.forecast.bounds import Bound, bound_for
from treaty.forecast.estimate import Estimate, above_zero, ratio
from treaty.forecast.outlook import Outlook, outlook, with_steps
from treaty.forecast.rehearsal import rehearse
from treaty.forecast.stand_in import Kind
from treaty.forecast.verdict import verdict
from treaty.learners import Plan, learner_for, method_named
from treaty.privacy import Budget
from treaty.records import Source
from treaty.terms import Treaty


@dataclass(frozen=True)
class Forecast:
    """The expected worth of a collaboration, with 90% intervals.

    ψ is the relative fitness over all parties' records; lower is better, 0 is the best model of all
    records in one place without privacy.

    Args:
        title: of the treaty.
        method: how it trains.
        horizon: T.
        parties: their names, records and budgets.
        evidence: what stood in for the records.
        stand_in_rows: how many rows.
        alike: whether owners were assumed to be alike.
        unknown: where they are told apart: owners the stand-in has too few rows of, taken to be like
            everybody.
        together: ψ of the collaboration.
        cost: f(θ) − f(θ*), the cost of privacy.
        optimisation: the part of ψ that would be left without noise.
        noise: the part that noise adds.
        alone: ψ of each owner's own model, without noise.
        public_only: ψ of the model of the public rows, if there are any.
        nothing: ψ of the best constant.
        curator: ψ of the same method if one trusted curator held all records at the smallest ε. It can
            lie above: the method's own bias, such as that of clipping, stays.
        rate: p²Ξ₂²/(μn²ε²)/f*, a lower bound up to an unknown constant.
        bound: the papers' bound, corrected, as ψ.
        published: the papers' bound as they print it, as ψ.
        runs: how many rehearsals it took.
        verdict: what it means, in words.
    """

    title: str
    method: str
    horizon: int
    parties: tuple[tuple[str, int, float], ...]
    evidence: Kind
    stand_in_rows: int
    alike: bool
    unknown: tuple[str, ...]
    together: Estimate
    cost: Estimate
    optimisation: float
    noise: float
    alone: dict[str, Estimate]
    public_only: Estimate | None
    nothing: Estimate
    curator: Estimate
    rate: float
    bound: Bound
    published: Bound
    runs: int
    verdict: tuple[str, ...]

    def __str__(self) -> str:
        from treaty.forecast.table import text

        return text(self)

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "title": self.title,
            "method": self.method,
            "horizon": self.horizon,
            "parties": [
                {"name": name, "records": records, "epsilon": epsilon}
                for name, records, epsilon in self.parties
            ],
            "evidence": self.evidence,
            "stand_in_rows": self.stand_in_rows,
            "owners_assumed_alike": self.alike,
            "owners_not_known": list(self.unknown),
            "must_not_leave": self.evidence == "private",
            "together": self.together.plain(),
            "cost_of_privacy": self.cost.plain(),
            "optimisation": self.optimisation,
            "noise": self.noise,
            "alone": {name: estimate.plain() for name, estimate in self.alone.items()},
            "public_only": None if self.public_only is None else self.public_only.plain(),
            "nothing": self.nothing.plain(),
            "curator": self.curator.plain(),
            "rate": self.rate,
            "bound": {"theorem": self.bound.theorem, "psi": self.bound.total},
            "bound_as_published": self.published.total,
            "runs": self.runs,
            "verdict": list(self.verdict),
        }


def forecast(
    treaty: Treaty,
    stand_in: Source | None = None,
    *,
    private: bool = False,
    by: str | None = None,
    own: Mapping[str, Source] | None = None,
    generate: bool = False,
    public_rows: int | None = None,
    precision: float = 0.02,
    seed: int = 0,
) -> Forecast:
    """Say what a collaboration is worth before anyone trains or spends.

    Args:
        treaty: the treaty.
        stand_in: rows that stand in for the owners' records.
        private: whether they are somebody's private ones; the report must then not leave.
        by: the column that says whose each row is, where owners differ.
        own: the very records of parties, by name, inside their own walls: the result must not leave.
        generate: without rows: make some up from the treaty's bounds, the weakest evidence.
        public_rows: how many public rows the learner has; all of a public stand-in if not given.
        precision: the relative Monte-Carlo error to reach.
        seed: of the rehearsals.

    Example:
        print(treaty.forecast(treaty.load("treaty.toml"), treaty.Source("public.parquet")))
    """
    if not 0 < precision < 1:
        raise TreatyError(f"--precision must be between 0 and 1, not {precision:g}")
    seen = outlook(
        treaty,
        stand_in,
        private=private,
        by=by,
        own=own,
        generate=generate,
        public_rows=public_rows,
    )
    return forecast_of(seen, treaty.title, precision=precision, seed=seed)


def forecast_of(seen: Outlook, title: str, *, precision: float = 0.02, seed: int = 0) -> Forecast:
    """Return the forecast of an outlook's own plan."""
    plan = seen.plan
    total = sum(party.records for party in plan.parties)
    result = seen.rehearse(plan, precision=precision, seed=seed)
    smallest = min(party.budget.epsilon for party in plan.parties)
    together = result.psi
    alone = {party.name: seen.own_model(plan, party.name) for party in plan.parties}
    nothing = above_zero(
        ratio(
            [stage.constant - stage.fitness for stage in seen.ready],
            [stage.fitness for stage in seen.ready],
        )
    )
    learner = learner_for(plan)
    scale = seen.fitness
    return Forecast(
        title=title,
        method=plan.method,
        horizon=plan.horizon,
        parties=tuple((p.name, p.records, p.budget.epsilon) for p in plan.parties),
        evidence=seen.evidence,
        stand_in_rows=seen.rows,
        alike=seen.alike,
        unknown=seen.unknown,
        together=together,
        cost=Estimate(together.value * scale, together.low * scale, together.high * scale),
        optimisation=result.optimisation,
        noise=result.noise,
        alone=alone,
        public_only=seen.public_model(total),
        nothing=nothing,
        curator=_curator(seen, precision, seed),
        rate=_rate(plan, smallest) / scale,
        bound=_as_psi(bound_for(plan, learner), scale),
        published=_as_psi(bound_for(plan, learner, as_published=True), scale),
        runs=result.runs,
        verdict=verdict(
            together, alone, seen.public_model(total), nothing, seen.evidence, seen.unknown
        ),
    )


def _curator(seen: Outlook, precision: float, seed: int) -> Estimate:
    """The same method with one trusted curator who holds all records at the smallest ε."""
    plan = seen.plan
    poorest = min(plan.parties, key=lambda party: party.budget.epsilon)
    whole = replace(
        poorest,
        name="curator",
        records=sum(party.records for party in plan.parties),
        budget=Budget(poorest.budget.epsilon, poorest.budget.delta),
        answers=_curators_answers(plan),
        rate=1.0,
        away=(),
    )
    single = with_steps(
        replace(
            plan, parties=(whole,), parameters={}, blocs=(), overlap=1, frequency_scaling="off"
        ),
        seen.learnt_from,
        seen.from_public,
    )
    shares = [party.records / whole.records for party in plan.parties]
    ready = [
        replace(
            stage,
            risks={"curator": pooled([stage.risks[party.name] for party in plan.parties], shares)},
        )
        for stage in seen.ready
    ]
    begin = seen.public_rows if seen.from_public else None
    return rehearse(single, ready, public_rows=begin, precision=precision, seed=seed).psi


def _curators_answers(plan: Plan) -> int:
    """How often the curator is asked: in every round of a synchronous method, else as often as all."""
    caps = [plan.horizon if party.answers is None else party.answers for party in plan.parties]
    return max(caps) if method_named(plan.method).synchronous else min(plan.horizon, sum(caps))


def _rate(plan: Plan, epsilon: float) -> float:
    """p²Ξ₂²/(μn²ε²) (Bassily, Smith, Thakurta 2014): a rate, its constant is not known."""
    problem = plan.problem
    if problem.ridge == 0 or math.isinf(epsilon):
        return 0.0
    total = sum(party.records for party in plan.parties)
    steep = problem.gradient_bound("l2")
    return problem.dimension**2 * steep**2 / (problem.ridge * total**2 * epsilon**2)


def _as_psi(bound: Bound, fitness: float) -> Bound:
    return Bound(bound.theorem, bound.optimisation / fitness, bound.noise / fitness)
