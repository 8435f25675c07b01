"""Advice: whom to invite, which ε, and at what price."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from rich.console import Group

from treaty.advice.coalition import candidates, leave_one_out, shapley
from treaty.advice.stability import Stability, stability_of
from treaty.advice.table import render
from treaty.advice.targets import Reach, beats_alone, priced_budgets, reach
from treaty.advice.worth import Worth, worth_of
from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.evidence import Evidence, EvidenceKind
from treaty.forecasting import Outlook, evidence_from, gains_from, outlook_on
from treaty.forecasting.verdict import beats
from treaty.gains import WORTHWHILE, OwnGain
from treaty.measures import Estimate
from treaty.records import SourceLike
from treaty.terms import Treaty
from treaty.views import Shown, some

MARGIN = 0.1
"""By how much a coalition must be better before somebody is left out for it."""


@dataclass(frozen=True)
class Standpoint:
    """One owner's side of the matter.

    Args:
        name: the owner.
        records: n_i.
        epsilon: ε_i.
        invited: whether it is in the recommended coalition.
        adds: by how much it lowers ψ of that coalition, or would.
        shapley: by how much it lowers ψ on average over orders of arrival.
        alone: ψ of its own model, without noise.
        joins: whether joining the coalition pays for it, invited or not.
        sure: whether the intervals of being in and being alone lie apart; else it is a guess.
    """

    name: str
    records: int
    epsilon: float
    invited: bool
    adds: float
    shapley: float
    alone: float
    joins: bool
    sure: bool


@dataclass(frozen=True, repr=False)
class Advice(Shown):
    """What to do about a treaty. ψ everywhere is over everybody's records.

    Args:
        title: of the treaty.
        evidence: what stood in for the records.
        alike: whether owners were assumed to be alike.
        unknown: where they are told apart: owners the stand-in has too few rows of.
        everybody: ψ with everybody at the table, rehearsed.
        recommended: ψ of the recommended coalition, rehearsed with the same randomness.
        with_precision_weights: ψ of everybody, weighed by n_i²ε_i²; None if they are already.
        without: ψ without any coalition: of the public rows, or of a constant.
        owners: every owner's side.
        reach: what would reach the target, if one was given.
        asked_alone: whether the target is to be as good as one owner alone.
        budgets: what each owner should be asked for under the prices, if any were given.
        priced: ψ of everybody at those budgets.
        fitness: f*, the least mean loss over all records, as far as the evidence tells.
        ask_owners: computes `gains`, which nobody pays for who does not ask.
    """

    title: str
    evidence: EvidenceKind
    alike: bool
    unknown: tuple[str, ...]
    everybody: Estimate
    recommended: Estimate
    with_precision_weights: float | None
    without: float
    owners: tuple[Standpoint, ...]
    reach: Reach | None
    budgets: dict[str, float] | None
    priced: float | None
    fitness: float
    asked_alone: bool = False
    ask_owners: Callable[[], Mapping[str, OwnGain]] = field(
        default=dict[str, OwnGain], repr=False, compare=False
    )

    @cached_property
    def gains(self) -> Mapping[str, OwnGain]:
        """What training with the recommended coalition does to owners' own errors, by name.

        Of every owner that the evidence tells enough of.
        """
        return self.ask_owners()

    @property
    def adds_to_others(self) -> dict[str, float]:
        """By which share each owner lowers the others' errors on their own records, on average.

        By as much as it lowers the mean loss of the shared model, as far as the others' adapted models
        feel that. Of the others that the evidence tells enough of; empty if of nobody.
        """
        found: dict[str, float] = {}
        for owner in self.owners:
            rises = [gain.rise for name, gain in self.gains.items() if name != owner.name]
            if rises:
                found[owner.name] = owner.adds * self.fitness * float(np.mean(rises))
        return found

    @property
    def stability(self) -> Stability | None:
        """Whether anybody would rather be elsewhere, by that."""
        return stability_of(self.coalition, self.gains, len(self.owners))

    def rendered(self) -> Group:
        """Return it as something Rich prints."""
        return render(self)

    def __repr__(self) -> str:
        return f"Advice({self.title!r}, invite {some(self.coalition) if self.pays else 'nobody'})"

    @property
    def coalition(self) -> tuple[str, ...]:
        """The owners to invite, if anybody."""
        return tuple(owner.name for owner in self.owners if owner.invited)

    @property
    def pays(self) -> bool:
        """Whether the recommended coalition is better than none."""
        return self.recommended.value < self.without

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "title": self.title,
            "evidence": self.evidence,
            "owners_assumed_alike": self.alike,
            "owners_not_known": list(self.unknown),
            "private": self.evidence == "private",
            "everybody": self.everybody.plain(),
            "recommended": self.recommended.plain(),
            "with_precision_weights": self.with_precision_weights,
            "without": self.without,
            "pays": self.pays,
            "invite": list(self.coalition) if self.pays else [],
            "owners": [vars(owner) for owner in self.owners],
            "reach": None if self.reach is None else vars(self.reach),
            "budgets": self.budgets,
            "priced": self.priced,
            "adds_to_others": self.adds_to_others,
            "own_gains": {name: gain.plain() for name, gain in self.gains.items()},
            "stability": None if self.stability is None else self.stability.plain(),
        }


def advise(
    treaty: Treaty,
    evidence: Evidence | SourceLike | None = None,
    *,
    by: str | None = None,
    own: Mapping[str, SourceLike] | None = None,
    private: bool = False,
    generate: bool = False,
    public_rows: int | None = None,
    target: float | None = None,
    owner: str | None = None,
    prices: Mapping[str, float] | None = None,
    spend: float | None = None,
    worthwhile: float = WORTHWHILE,
    seed: int = 0,
) -> Advice:
    """Say whom to invite, what each owner adds, and what a target or a price asks for.

    A few coalitions that look best by what noise, records and differences between owners cost are
    rehearsed; the best of these is recommended.

    Args:
        treaty: the treaty.
        evidence: rows that stand in for the owners' records, or evidence that has been read already.
        by: the column that says whose each row is, where owners differ.
        own: the very records of parties, by name, inside their own walls: whether joining pays for
            them is then rehearsed on these, and the advice must not leave.
        private: whether they are somebody's private ones; the advice must then not leave.
        generate: without rows: make some up from the treaty's bounds.
        public_rows: how many public rows the learner has.
        target: a ψ to reach.
        owner: one owner: for the target, whose ε is asked about; without one, being alone is what it has
            to beat.
        prices: the price of one unit of ε, by owner.
        spend: what there is to spend at those prices.
        worthwhile: the least share by which an owner's own error must fall to matter to it.
        seed: of the rehearsals.
    """
    known = evidence_from(
        evidence, private=private, by=by, own=own, generate=generate, public_rows=public_rows
    )
    outlook = outlook_on(treaty, known)
    advice = advice_of(outlook, target=target, owner=owner, prices=prices, spend=spend, seed=seed)
    return with_own_gains(advice, treaty, known, worthwhile=worthwhile, seed=seed)


def with_own_gains(
    advice: Advice,
    treaty: Treaty,
    evidence: Evidence,
    *,
    worthwhile: float = WORTHWHILE,
    seed: int = 0,
) -> Advice:
    """Return advice that can tell what the recommended coalition does to owners' own errors.

    Args:
        advice: the advice.
        treaty: the treaty it is about.
        evidence: what it was made of.
        worthwhile: the least share by which an error must fall to matter.
        seed: of the draws.
    """
    ask = partial(
        gains_from,
        treaty,
        evidence,
        coalition=advice.coalition,
        worthwhile=worthwhile,
        seed=seed,
    )
    return replace(advice, ask_owners=ask)


def advice_of(
    outlook: Outlook,
    *,
    target: float | None = None,
    owner: str | None = None,
    prices: Mapping[str, float] | None = None,
    spend: float | None = None,
    seed: int = 0,
) -> Advice:
    """Return the advice on an outlook's plan."""
    if (prices is None) != (spend is None):
        raise TreatyError("`prices` and `spend` belong together")
    worth = worth_of(outlook, seed=seed)
    parties = outlook.plan.parties
    epsilons = np.array([party.budget.epsilon for party in parties])
    everybody = np.ones(len(parties))
    chosen, psi_of = _rehearsed(outlook, worth, seed)
    joined = _joined(worth, chosen, psi_of)
    adds, fair = leave_one_out(worth, chosen), shapley(worth, seed)
    with_it, typical = np.maximum(chosen, np.eye(len(parties))), worth.typical_alone()
    alone_at = {party.name: outlook.own_model(outlook.plan, party.name) for party in parties}
    recommended = psi_of(chosen)
    budgets = priced = None
    if prices is not None and spend is not None:
        budgets = priced_budgets(worth, epsilons, prices, spend)
        priced = _at_budgets(worth, epsilons, budgets)
    return Advice(
        title=outlook.title,
        evidence=outlook.ground.kind,
        alike=outlook.ground.alike,
        unknown=outlook.ground.unknown,
        everybody=psi_of(everybody),
        recommended=recommended,
        with_precision_weights=None
        if worth.precision_weights
        else float(worth.with_precision_weights().psi(everybody[None])[0]),
        without=worth.nothing,
        owners=tuple(
            Standpoint(
                name=party.name,
                records=party.records,
                epsilon=party.budget.epsilon,
                invited=bool(chosen[i]),
                adds=float(adds[i]),
                shapley=float(fair[i]),
                alone=alone_at[party.name].value,
                joins=bool(joined[i] < typical[i] and with_it[i].sum() > 1),
                sure=party.name not in outlook.ground.unknown
                and (
                    beats(recommended, alone_at[party.name])
                    or beats(alone_at[party.name], recommended)
                ),
            )
            for i, party in enumerate(parties)
        ),
        reach=_reach(worth, epsilons, target, owner),
        asked_alone=target is None,
        budgets=budgets,
        priced=priced,
        fitness=outlook.fitness,
    )


def _rehearsed(
    outlook: Outlook, worth: Worth, seed: int
) -> tuple[FloatArray, Callable[[FloatArray], Estimate]]:
    """Rehearse the coalitions in question; return the one to recommend, and what any comes to.

    Somebody is left out only where that is worth it: a forecast does not tell differences of a few
    percent, and what only one owner knows is not in a stand-in.
    """
    known: dict[tuple[float, ...], Estimate] = {}

    def psi_of(members: FloatArray) -> Estimate:
        key = tuple(members.tolist())
        if key not in known:
            names = [n for n, member in zip(worth.names, members, strict=True) if member]
            known[key] = outlook.rehearse_coalition(names, seed=seed).psi
        return known[key]

    found = candidates(worth)
    lowest = min(psi_of(members).value for members in found)
    good = [m for m in found if psi_of(m).value <= (1 + MARGIN) * lowest]
    return max(good, key=lambda m: (m.sum(), -psi_of(m).value)), psi_of


def _joined(
    worth: Worth, chosen: FloatArray, psi_of: Callable[[FloatArray], Estimate]
) -> FloatArray:
    """Return ψ of the coalition with each owner in it; rehearsed where the owner asks for itself."""
    with_it = np.maximum(chosen, np.eye(len(chosen)))
    joined = psi_of(chosen).value + worth.psi(with_it) - worth.psi(chosen[None])
    for name in worth.own:
        index = worth.names.index(name)
        joined[index] = psi_of(with_it[index]).value
    return joined


def _reach(
    worth: Worth, epsilons: FloatArray, target: float | None, owner: str | None
) -> Reach | None:
    """Return what reaches the target; without one, what beats the owner's being alone."""
    if target is not None:
        return reach(worth, epsilons, target, owner)
    return None if owner is None else beats_alone(worth, epsilons, owner)


def _at_budgets(worth: Worth, epsilons: FloatArray, budgets: Mapping[str, float]) -> float:
    granted = np.array([budgets[name] for name in worth.names])
    paid = granted > 0
    changed = replace(
        worth, noise=worth.noise * (epsilons / np.where(paid, granted, epsilons)) ** 2
    )
    return float(changed.psi(paid[None].astype(float))[0])
