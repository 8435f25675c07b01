"""What a collaboration is worth, before anyone trains."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from rich.console import Group

from treaty.errors import TreatyError
from treaty.evidence import Evidence, EvidenceKind
from treaty.fitness import Risk, pooled
from treaty.forecasting.outlook import Outlook, outlook_on
from treaty.forecasting.own_view import gains_from
from treaty.forecasting.ratio import above_zero, ratio
from treaty.forecasting.rehearsal import Rehearsal, concluded, rehearsals
from treaty.forecasting.table import render
from treaty.forecasting.verdict import verdict
from treaty.gains import WORTHWHILE, OwnGain
from treaty.learners import Bound
from treaty.losses import Loss
from treaty.measures import Estimate
from treaty.plans import Plan
from treaty.privacy import Budget
from treaty.records import SourceLike
from treaty.terms import Treaty
from treaty.views import Shown

TOGETHER_FIRST = 0.6
"""The share of the work after which it is known what everybody has together."""


@dataclass(frozen=True, repr=False)
class Forecast(Shown):
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
            lie above: the method's own bias, such as that of clipping, stays. None until it is known.
        rate: p²Ξ₂²/(μn²ε²)/f*, a lower bound up to an unknown constant.
        bound: the papers' bound, corrected, as ψ; None for a method that they have no theorem about.
        published: the papers' bound as they print it, as ψ.
        runs: how many rehearsals it took.
        verdict: what it means, in words.
        done: which share of the work is done, as far as can be told; 1 for a finished forecast.
        ask_owners: computes `owners`, which nobody pays for who does not ask.
    """

    title: str
    method: str
    horizon: int
    parties: tuple[tuple[str, int, float], ...]
    evidence: EvidenceKind
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
    curator: Estimate | None
    rate: float
    bound: Bound | None
    published: Bound | None
    runs: int
    verdict: tuple[str, ...]
    done: float = 1.0
    ask_owners: Callable[[], Mapping[str, OwnGain]] = field(
        default=dict[str, OwnGain], repr=False, compare=False
    )

    @cached_property
    def owners(self) -> Mapping[str, OwnGain]:
        """What joining does to owners' own errors, in their own unit, by name.

        Of every owner whose own records are at hand; else of every owner that the public rows say enough
        of, where they say whose they are.
        """
        return self.ask_owners()

    def rendered(self) -> Group:
        """Return it as something Rich prints."""
        return render(self)

    def __repr__(self) -> str:
        return f"Forecast({self.title!r}, {len(self.parties)} parties, ψ together {self.together})"

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
            "private": self.evidence == "private",
            "together": self.together.plain(),
            "cost_of_privacy": self.cost.plain(),
            "optimisation": self.optimisation,
            "noise": self.noise,
            "alone": {name: estimate.plain() for name, estimate in self.alone.items()},
            "public_only": None if self.public_only is None else self.public_only.plain(),
            "nothing": self.nothing.plain(),
            "curator": None if self.curator is None else self.curator.plain(),
            "rate": self.rate,
            "bound": None
            if self.bound is None
            else {"theorem": self.bound.theorem, "psi": self.bound.total},
            "bound_as_published": None if self.published is None else self.published.total,
            "runs": self.runs,
            "verdict": list(self.verdict),
            "owners": {name: gain.plain() for name, gain in self.owners.items()},
        }


def forecast(
    treaty: Treaty,
    evidence: Evidence | SourceLike | None = None,
    *,
    private: bool = False,
    by: str | None = None,
    own: Mapping[str, SourceLike] | None = None,
    generate: bool = False,
    public_rows: int | None = None,
    precision: float = 0.02,
    worthwhile: float = WORTHWHILE,
    seed: int = 0,
) -> Forecast:
    """Say what a collaboration is worth before anyone trains or spends.

    Args:
        treaty: the treaty.
        evidence: rows that stand in for the owners' records: a file, a data frame, a source; or evidence
            that has been read already, and serves any number of treaties.
        private: whether they are somebody's private ones; the report must then not leave.
        by: the column that says whose each row is, where owners differ.
        own: the very records of parties, by name, inside their own walls: the result must not leave.
        generate: without rows: make some up from the treaty's bounds, the weakest evidence.
        public_rows: how many public rows the learner has; all of a public stand-in if not given.
        precision: the relative Monte-Carlo error to reach.
        worthwhile: the least share by which an owner's own error must fall to matter to it.
        seed: of the rehearsals.

    Example:
        print(treaty.forecast(treaty.load("treaty.toml"), "public.parquet"))
    """
    known = evidence_from(
        evidence, private=private, by=by, own=own, generate=generate, public_rows=public_rows
    )
    found = concluded(forecasts_of(outlook_on(treaty, known), precision=precision, seed=seed))
    return with_owners(found, treaty, known, worthwhile=worthwhile, seed=seed)


def with_owners(
    found: Forecast,
    treaty: Treaty,
    evidence: Evidence,
    *,
    worthwhile: float = WORTHWHILE,
    seed: int = 0,
) -> Forecast:
    """Return a forecast that can answer owners' own questions as well."""
    return replace(
        found, ask_owners=partial(gains_from, treaty, evidence, worthwhile=worthwhile, seed=seed)
    )


def evidence_from(
    given: Evidence | SourceLike | None,
    *,
    private: bool = False,
    by: str | None = None,
    own: Mapping[str, SourceLike] | None = None,
    generate: bool = False,
    public_rows: int | None = None,
) -> Evidence:
    """Return evidence as it is, or read it from rows; the arguments are those of `Evidence`."""
    if not isinstance(given, Evidence):
        return Evidence(
            given, private=private, by=by, own=own, generate=generate, public_rows=public_rows
        )
    if private or by or own or generate or public_rows:
        raise TreatyError(
            "`private`, `by`, `own`, `generate` and `public_rows` are given to Evidence(...): do not "
            "repeat them here"
        )
    return given


def forecasts_of(outlook: Outlook, *, precision: float = 0.02, seed: int = 0) -> Iterator[Forecast]:
    """Forecast an outlook's own plan: better and better forecasts, the last of them finished.

    Args:
        outlook: a treaty in the light of evidence.
        precision: the relative Monte-Carlo error to reach.
        seed: of the rehearsals.
    """
    if not 0 < precision < 1:
        raise TreatyError(f"`precision` must be between 0 and 1, not {precision:g}")
    plan, ground = outlook.plan, outlook.ground
    alone = {party.name: outlook.own_model(plan, party.name) for party in plan.parties}
    public_only = outlook.public_model(plan.total)
    fitness = [stage.fitness for stage in outlook.stages]
    nothing = above_zero(ratio([s.constant - s.fitness for s in outlook.stages], fitness))
    scale = outlook.fitness
    learner = replace(plan, start=None, begin="zero").learner()
    smallest = min(party.budget.epsilon for party in plan.parties)

    def known_by(rehearsal: Rehearsal, curator: Estimate | None, done: float) -> Forecast:
        together = rehearsal.psi
        return Forecast(
            title=outlook.title,
            method=plan.method,
            horizon=plan.horizon,
            parties=tuple((p.name, p.records, p.budget.epsilon) for p in plan.parties),
            evidence=ground.kind,
            stand_in_rows=ground.rows,
            alike=ground.alike,
            unknown=ground.unknown,
            together=together,
            cost=Estimate(together.value * scale, together.low * scale, together.high * scale),
            optimisation=rehearsal.optimisation,
            noise=rehearsal.noise,
            alone=alone,
            public_only=public_only,
            nothing=nothing,
            curator=curator,
            rate=_rate(plan, smallest) / scale,
            bound=_as_psi(learner.bound(), scale),
            published=_as_psi(learner.bound(as_published=True), scale),
            runs=rehearsal.runs,
            verdict=verdict(together, alone, public_only, nothing, ground.kind, ground.unknown),
            done=done,
        )

    together: Rehearsal | None = None
    for together in rehearsals(
        plan, outlook.stages, public_rows=ground.public_rows, precision=precision, seed=seed
    ):
        yield known_by(together, None, TOGETHER_FIRST * together.done)
    assert together is not None
    for curator in _curator(outlook, precision, seed):
        done = TOGETHER_FIRST + (1 - TOGETHER_FIRST) * curator.done
        yield known_by(together, curator.psi, done)


def _curator(outlook: Outlook, precision: float, seed: int) -> Iterator[Rehearsal]:
    """The same method with one trusted curator who holds all records at the smallest ε."""
    plan = outlook.plan
    poorest = min(plan.parties, key=lambda party: party.budget.epsilon)
    whole = replace(
        poorest,
        name="curator",
        records=plan.total,
        budget=Budget(poorest.budget.epsilon, poorest.budget.delta),
        answers=_curators_answers(plan),
        rate=1.0,
        away=(),
    )
    single = replace(
        plan, parties=(whole,), parameters={}, blocs=(), overlap=1, frequency_scaling="off"
    ).with_steps()
    shares = [party.records / whole.records for party in plan.parties]

    def pool(records: Callable[[Loss], Mapping[str, Risk]]) -> Callable[[Loss], dict[str, Risk]]:
        def under(loss: Loss) -> dict[str, Risk]:
            every = records(loss)
            return {"curator": pooled([every[party.name] for party in plan.parties], shares)}

        return under

    stages = [replace(stage, records=pool(stage.records)) for stage in outlook.stages]
    public_rows = outlook.ground.public_rows
    return rehearsals(single, stages, public_rows=public_rows, precision=precision, seed=seed)


def _curators_answers(plan: Plan) -> int:
    """How often the curator is asked: in every round of a synchronous method, else as often as all."""
    caps = [plan.horizon if party.answers is None else party.answers for party in plan.parties]
    return max(caps) if plan.synchronous else min(plan.horizon, sum(caps))


def _rate(plan: Plan, epsilon: float) -> float:
    """p²Ξ₂²/(μn²ε²) (Bassily, Smith, Thakurta 2014): a rate, its constant is not known."""
    problem = plan.problem
    if problem.ridge == 0 or math.isinf(epsilon):
        return 0.0
    total = plan.total
    steep = problem.gradient_bound("l2")
    return problem.dimension**2 * steep**2 / (problem.ridge * total**2 * epsilon**2)


def _as_psi(bound: Bound | None, fitness: float) -> Bound | None:
    if bound is None:
        return None
    return Bound(bound.theorem, bound.optimisation / fitness, bound.noise / fitness)
