"""Advice: whom to invite, which ε, and at what price."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from treaty.advice.coalition import (
    best_coalition,
    leave_one_out,
    recommended_coalition,
    shapley,
)
from treaty.advice.targets import Reach, priced_budgets, reach
from treaty.advice.worth import Worth, worth_of
from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.forecast import Estimate, Outlook, outlook
from treaty.records import Source
from treaty.terms import Treaty


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
    """

    name: str
    records: int
    epsilon: float
    invited: bool
    adds: float
    shapley: float
    alone: float
    joins: bool


@dataclass(frozen=True)
class Advice:
    """What to do about a treaty. ψ everywhere is over everybody's records.

    Args:
        title: of the treaty.
        everybody: ψ with everybody at the table, rehearsed.
        recommended: ψ of the recommended coalition: the largest that is nearly as good as the best.
        best: ψ of the best one.
        all_invited: ψ of everybody by the same reckoning, to compare with.
        with_precision_weights: ψ of everybody, weighed by n_i²ε_i².
        without: ψ without any coalition: of the public rows, or of a constant.
        owners: every owner's side.
        reach: what would reach the target, if one was given.
        budgets: what each owner should be asked for under the prices, if any were given.
        priced: ψ of everybody at those budgets.
    """

    title: str
    everybody: Estimate
    recommended: float
    best: float
    all_invited: float
    with_precision_weights: float
    without: float
    owners: tuple[Standpoint, ...]
    reach: Reach | None
    budgets: dict[str, float] | None
    priced: float | None

    def __str__(self) -> str:
        from treaty.advice.table import text

        return text(self)

    @property
    def coalition(self) -> tuple[str, ...]:
        """The owners to invite."""
        return tuple(owner.name for owner in self.owners if owner.invited)

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "title": self.title,
            "everybody": self.everybody.plain(),
            "recommended": self.recommended,
            "best": self.best,
            "all_invited": self.all_invited,
            "with_precision_weights": self.with_precision_weights,
            "without": self.without,
            "invite": list(self.coalition),
            "owners": [vars(owner) for owner in self.owners],
            "reach": None if self.reach is None else vars(self.reach),
            "budgets": self.budgets,
            "priced": self.priced,
        }


def advise(
    treaty: Treaty,
    stand_in: Source | None = None,
    *,
    by: str | None = None,
    private: bool = False,
    generate: bool = False,
    public_rows: int | None = None,
    target: float | None = None,
    owner: str | None = None,
    prices: Mapping[str, float] | None = None,
    spend: float | None = None,
    seed: int = 0,
) -> Advice:
    """Say whom to invite, what each owner adds, and what a target or a price asks for.

    Coalitions are compared as if owners were alike; what an owner is alone takes into account that it
    differs, where the stand-in tells owners apart.

    Args:
        treaty: the treaty.
        stand_in: rows that stand in for the owners' records.
        by: the column that says whose each row is, where owners differ.
        private: whether they are somebody's private ones; the advice must then not leave.
        generate: without rows: make some up from the treaty's bounds.
        public_rows: how many public rows the learner has.
        target: a ψ to reach.
        owner: one owner: for the target, whose ε is asked about; without one, being alone is what it has
            to beat.
        prices: the price of one unit of ε, by owner.
        spend: what there is to spend at those prices.
        seed: of the rehearsals.
    """
    seen = outlook(
        treaty, stand_in, by=by, private=private, generate=generate, public_rows=public_rows
    )
    return advice_of(
        seen, treaty.title, target=target, owner=owner, prices=prices, spend=spend, seed=seed
    )


def advice_of(
    seen: Outlook,
    title: str = "",
    *,
    target: float | None = None,
    owner: str | None = None,
    prices: Mapping[str, float] | None = None,
    spend: float | None = None,
    seed: int = 0,
) -> Advice:
    """Return the advice on an outlook's plan."""
    if (prices is None) != (spend is None):
        raise TreatyError("--prices and --spend belong together")
    worth = worth_of(seen, seed=seed)
    parties = seen.plan.parties
    epsilons = np.array([party.budget.epsilon for party in parties])
    everybody = np.ones(len(parties))
    chosen = recommended_coalition(worth)
    psi = float(worth.psi(chosen[None])[0])
    adds, fair, alone = leave_one_out(worth, chosen), shapley(worth, seed), worth.alone()
    with_it = np.maximum(chosen, np.eye(len(parties)))
    joined, typical = worth.psi(with_it), worth.typical_alone()
    budgets = priced = None
    if prices is not None and spend is not None:
        budgets = priced_budgets(worth, epsilons, prices, spend)
        priced = _at_budgets(worth, epsilons, budgets)
    return Advice(
        title=title,
        everybody=seen.rehearse(seen.plan, seed=seed).psi,
        recommended=psi,
        best=float(worth.psi(best_coalition(worth)[None])[0]),
        all_invited=float(worth.psi(everybody[None])[0]),
        with_precision_weights=float(worth.with_precision_weights().psi(everybody[None])[0]),
        without=worth.nothing,
        owners=tuple(
            Standpoint(
                name=party.name,
                records=party.records,
                epsilon=party.budget.epsilon,
                invited=bool(chosen[i]),
                adds=float(adds[i]),
                shapley=float(fair[i]),
                alone=float(alone[i]),
                joins=bool(joined[i] < typical[i] and with_it[i].sum() > 1),
            )
            for i, party in enumerate(parties)
        ),
        reach=_reach(worth, epsilons, target, owner),
        budgets=budgets,
        priced=priced,
    )


def _reach(
    worth: Worth, epsilons: FloatArray, target: float | None, owner: str | None
) -> Reach | None:
    """Return what reaches the target; without one, what beats the owner's being alone."""
    if target is None and owner is not None:
        if owner not in worth.names:
            raise TreatyError(f"{owner} is not a party to this treaty")
        target = float(worth.typical_alone()[worth.names.index(owner)])
    return None if target is None else reach(worth, epsilons, target, owner)


def _at_budgets(worth: Worth, epsilons: FloatArray, budgets: Mapping[str, float]) -> float:
    granted = np.array([budgets[name] for name in worth.names])
    spent = float(np.sum(worth.noise * (epsilons / granted) ** 2)) / worth.total**2
    return worth.optimisation + spent
