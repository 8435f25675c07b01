"""Whose rows stand in for whom, and how far an owner's own rows are to be believed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treaty.arrays import FloatArray
from treaty.evidence.costs import CostGeometry, costs_around, median_over_mean
from treaty.evidence.folds import Half, Rows, through_moments
from treaty.fitness import Optimum, Problem, Risk, optimum, pooled
from treaty.fitness.tilt import TiltedRisk
from treaty.plans import Party

FEWEST_OWN = 5
"""Rows of its own that an owner needs in a fold to be told from the others."""
VARIETY = 2.0
"""The prior standard deviation of τ_i² across owners, over its typical value."""


@dataclass(frozen=True, eq=False)
class Part:
    """What stands in for a party, or, without a name, for all that have nothing of their own.

    Args:
        name: the party.
        share: its share of all records.
        risk: its rows.
        trust: a factor from 0 to 1 by which its mean gradient less everybody's is shrunk.
        rows: how many its own rows are.
        exact: whether they are its very records.
    """

    name: str
    share: float
    risk: Risk
    trust: float = 0.0
    rows: int = 0
    exact: bool = False


def weighted(parts: Sequence[Part]) -> list[tuple[Risk, float]]:
    """Return the rows of parts, each with its share."""
    return [(part.risk, part.share) for part in parts]


def around_everybody(problem: Problem, half: Half) -> CostGeometry:
    """Return what being off costs around the best model of all rows of a half."""
    rows = half.everybody
    return costs_around(problem, rows.best(problem).theta, [(rows.risk(problem), 1.0)])


def best_of(problem: Problem, parts: Sequence[Part], everybody: Rows) -> Optimum:
    """Return the best model of all parties' rows; where they are everybody's, that of these."""
    if len(parts) == 1 and parts[0].risk is everybody.risk(problem):
        return everybody.best(problem)
    risks = [through_moments(problem.fitness_loss, part.risk) for part in parts]
    return optimum(problem, pooled(risks, [part.share for part in parts]))


def parts_of(
    problem: Problem, parties: Sequence[Party], half: Half, trust: Mapping[str, float]
) -> list[Part]:
    """Return what stands in for every party; parties with nothing of their own are one part.

    Args:
        problem: what is learnt.
        parties: the owners, with their numbers of records.
        half: the rows.
        trust: how far the difference of an owner's own rows is believed; see `trust_in`.
    """
    total = sum(party.records for party in parties)
    everybody = half.everybody.risk(problem)
    centre = half.everybody.best(problem).theta
    mean = everybody.gradient(centre)
    parts: list[Part] = []
    rest = 0.0
    for party in parties:
        share = party.records / total
        if party.name in half.exact:
            theirs = half.exact[party.name]
            risk = theirs.risk(problem)
            parts.append(Part(party.name, share, risk, 1.0, len(theirs), True))
            continue
        mine = half.own(party.name)
        weight = trust.get(party.name, 0.0)
        if len(mine) < FEWEST_OWN:
            rest += share
            continue
        own = mine.risk(problem)
        slope = (weight - 1) * (own.gradient(centre) - mean)
        parts.append(Part(party.name, share, TiltedRisk(own, slope, centre), weight, len(mine)))
    if rest > 0:
        parts.append(Part("", rest, everybody))
    return parts


def trust_in(problem: Problem, half: Half, geometry: CostGeometry) -> dict[str, float]:
    """Return which part of the difference of each owner's gradient from everybody's is believed.

    With n_i rows E‖pull_i‖² = τ_i² + tr(H⁻¹G)/n_i: how much the owner differs, and chance. τ_i² is
    estimated from its own rows as far as they tell, and from the typical owner's beyond that; the part
    is such that the owner differs from the others by that much, not by as much as few rows do.

    Args:
        problem: what is learnt.
        half: the rows.
        geometry: what being off costs around the best model of all of them.
    """
    if half.owner is None:
        return {}
    names, counts, squares = _squared_pulls(problem, half, geometry)
    if not len(names):
        return {}
    chance = float(geometry.spectrum.sum()) / counts
    # The median owner, not the mean: a few differ wildly. Squares are skewed, their median is low.
    raised = squares / median_over_mean(geometry.spectrum) - chance
    order = np.argsort(raised)
    middle = int(np.searchsorted(np.cumsum(counts[order]), 0.5 * float(counts.sum())))
    typical = max(0.0, float(raised[order[middle]]))
    prior = (VARIETY * typical) ** 2
    error = 2 * (typical + chance) ** 2 / problem.dimension
    differ = typical + prior / (prior + error) * (squares - chance - typical)
    weights = np.sqrt(np.clip(differ, 0.0, squares) / squares)
    return dict(zip(names, weights.tolist(), strict=True))


def _squared_pulls(
    problem: Problem, half: Half, geometry: CostGeometry
) -> tuple[list[str], FloatArray, FloatArray]:
    """Return the owners with enough rows, how many these are, and their ‖pull_i‖²."""
    assert half.owner is not None
    centre = half.everybody.best(problem).theta
    mean = half.everybody.risk(problem).gradient(centre)
    every, of = np.unique(half.owner, return_counts=True)
    names = [str(name) for name in every[of >= FEWEST_OWN]]
    squares: list[float] = []
    for name in names:
        pull = geometry.pull(half.own(name).risk(problem).gradient(centre) - mean)
        squares.append(max(float(pull @ pull), 1e-300))
    return names, of[of >= FEWEST_OWN].astype(float), np.array(squares)


def rows_weighed(parts: Sequence[Part], rows: int) -> float:
    """Return Σ over rows of (weight of the row)²: what chance in them costs the model of all parts."""
    known = [part for part in parts if not part.exact]
    own_share = sum(part.share * part.trust for part in known)
    common = sum(part.share for part in known) - own_share
    own = sum((part.share * part.trust) ** 2 / part.rows for part in known if part.trust > 0)
    return own + (2 * own_share * common + common**2) / rows
