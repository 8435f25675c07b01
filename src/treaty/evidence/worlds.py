"""Worlds: owners that differ, drawn as they may be, as far as a few public rows of each tell.

Public rows say whose they are, but of most owners there are few, often fewer than a model has
coefficients. What an owner's records are like is then a matter of drawing, not of averaging: each world
is one draw of everybody's records that agrees with the public rows, and everything is measured in it as
it will be measured one day.

Let θ₀ be the best model of the public rows. In a world the owners' common best model lies at θ₀ + u,
where u is what chance in m rows makes of it, and an owner's own at θ₀ + u + d. Prior to its rows d
scatters with covariance τH⁻¹, H the public curvature: τ says how much owners differ, and is estimated
from how far the mean gradients of owners' rows lie apart beyond chance. Its own rows then say what d is,
as far as they go.

What an owner's model costs over everybody's records depends above all on what its records leave out,
such as airports it does not fly to, and few rows cannot tell what is rare from what is never. So half of
the worlds take an owner's records to be like everybody's, and half to be like its own rows and nothing
else: the truth lies between these readings.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.evidence.costs import costs_around
from treaty.evidence.folds import Names, Rows, through_moments
from treaty.evidence.known_owners import KnownOwners, inverse_of
from treaty.evidence.parts import Part, weighted
from treaty.evidence.stage import Stage, StageRecords
from treaty.fitness import Problem, Risk, RowRisk, Yardstick, best_constant, optimum, pooled
from treaty.fitness.curvature import curvature_of, smoothed
from treaty.fitness.tilt import TiltedRisk
from treaty.losses import Loss
from treaty.plans import Party

MOST_DRAWN_WITH_KINKS = 300
"""Of an owner, for losses with kinks, whose optima take long."""
UNSEEN = 2.0
"""Worlds are made of the public rows: what is rare, and not among them, no world shows."""
MOST_DRAWN, DRAWN_IN_ALL, FEWEST_DRAWN = 1_000, 40_000, 60
"""How many records are drawn: of an owner at most, of all, and of an owner at least, if it has them.

Chance in them is then made as small as it is in all records.
"""


def worlds(
    problem: Problem,
    parties: Sequence[Party],
    rows: Rows,
    owner: Names,
    exact: Mapping[str, Rows],
    number: int,
    *,
    informed: bool = True,
    seed: int = 0,
) -> list[Stage]:
    """Draw worlds that agree with public rows of owners that differ.

    Args:
        problem: what is learnt.
        parties: the owners, with their numbers of records.
        rows: the public rows.
        owner: whose each of them is.
        exact: the very records of parties that are at hand.
        number: how many worlds.
        informed: whether these rows are the very ones that the learner has.
        seed: of the draws.
    """
    makers = _Worlds(problem, parties, rows, owner, exact, informed=informed)
    return [makers.draw(index, np.random.default_rng([seed, index])) for index in range(number)]


class _DrawnRisk(TiltedRisk):
    """Records drawn for an owner, under any loss: their mean gradient at its best model is chance.

    Where fewer records are drawn than the owner has, chance in them is made as small as it would be.

    Args:
        rows: the records that were drawn.
        centre: a model.
        habit: by loss, what their mean gradient there is but for chance.
        slope: what is added to it.
        records: how many records the owner has.
    """

    def __init__(
        self,
        rows: RowRisk,
        centre: FloatArray,
        habit: Callable[[Loss], FloatArray],
        slope: FloatArray,
        records: int,
    ) -> None:
        self._habit, self._added, self._records = habit, slope, records
        chance = rows.gradient(centre) - habit(rows.loss)
        less = math.sqrt(min(1.0, rows.n / records)) - 1.0
        super().__init__(rows, slope + less * chance, centre)
        self._rows = rows

    def with_loss(self, loss: Loss) -> Risk:
        """Return the same records under another loss."""
        rows = RowRisk(loss, self._rows.x, self._rows.y)
        return _DrawnRisk(rows, self.centre, self._habit, self._added, self._records)


class _Worlds:
    """What all worlds share, computed once."""

    def __init__(
        self,
        problem: Problem,
        parties: Sequence[Party],
        rows: Rows,
        owner: Names,
        exact: Mapping[str, Rows],
        *,
        informed: bool,
    ) -> None:
        self._problem, self._parties, self._rows = problem, parties, rows
        self._exact, self._informed = exact, informed
        self._total = sum(party.records for party in parties)
        self._known = KnownOwners(problem, rows, owner)
        self._theta, self._residuals = self._known.theta, self._known.residuals
        self._predicted = rows.x @ self._theta
        self._constant = best_constant(problem, rows.risk(problem))

    def draw(self, index: int, random: np.random.Generator) -> Stage:
        """Draw one world."""
        problem, theta = self._problem, self._theta
        common, variety = self._drawn_common(random), self._known.drawn_variety(random)
        parts: list[Part] = []
        # A tilt makes a better model of its best one; the loss of its rows there is what it was.
        raised = 0.0
        pulls = np.zeros((len(self._parties), len(theta)))
        for i, party in enumerate(self._parties):
            share = party.records / self._total
            if party.name in self._exact:
                risk = self._exact[party.name].risk(problem)
                parts.append(Part(party.name, share, risk, 1.0, risk.n, True))
                continue
            differ = self._known.drawn_difference(party.name, common.away, variety, random)
            risk = self._drawn_records(party, common, differ, _apart(index, i), random)
            parts.append(Part(party.name, share, risk))
            away = common.away + differ
            pull = curvature_of(problem, risk, theta) @ away
            pulls[i] = -self._known.root.T @ pull
            if problem.fitness_loss.labels:
                raised += share * (
                    0.5 * float(away @ pull) + self._known.sampling / len(self._rows)
                )
        at_hand = sum(part.share for part in parts if part.exact)
        return self._stage(parts, pulls, raised, common.away, at_hand, index)

    def _stage(
        self,
        parts: Sequence[Part],
        pulls: FloatArray,
        raised: float,
        common: FloatArray,
        at_hand: float,
        index: int,
    ) -> Stage:
        problem, rows = self._problem, self._rows
        shares = [part.share for part in parts]
        fast = [through_moments(problem.fitness_loss, part.risk) for part in parts]
        union = pooled(fast, shares)
        stick = Yardstick(problem, union, optimum(problem, union))
        best = float(stick.best.value)
        if best <= 0:
            raise TreatyError(
                f"`by`: {len(rows)} rows are too few to tell how owners differ in {problem.dimension} "
                "columns: give several times as many rows, or leave `by` out"
            )
        costs = costs_around(problem, stick.best.theta, weighted(parts))
        models = [optimum(problem, risk) for risk in fast]
        own_costs = np.array([float(stick.fitness(model.theta)) - best for model in models])
        records = np.array([party.records for party in self._parties])
        by_chance = costs.sampling * (1 / records - 1 / self._total)
        nothing = stick.fitness(self._constant)
        return Stage(
            records=StageRecords(self._parties, parts),
            evidence_rows=len(rows),
            stick=stick,
            costs=costs,
            fitness=best + raised,
            constant=float(nothing) + raised,
            public=float(stick.fitness(self._theta)) + raised - costs.sampling / len(rows),
            centre=self._theta + common,
            everybody=rows,
            at_hand=at_hand,
            pulls=pulls,
            difference_costs=np.maximum(own_costs - by_chance, 0.0),
            own={
                part.name: float(cost) + best + raised
                for part, cost in zip(parts, own_costs, strict=True)
                if part.exact
            },
            own_costs=own_costs,
            apart=tuple(_apart(index, i) for i in range(len(parts))),
            unseen=UNSEEN,
            informed=self._informed,
        )

    def _drawn_common(self, random: np.random.Generator) -> "_Common":
        """Draw what everybody's records are like: public rows with random weights of mean 1.

        Then the public rows are a sample that has too much of some and too little of others, and the
        best model of it is off by H⁻¹ times the difference of the mean gradients, H the curvature of the
        sample (the Bayesian bootstrap, read backwards); where a few rows decide, so do their weights.
        """
        weights = random.standard_exponential(len(self._rows))
        weights /= weights.sum()
        loss, x = self._problem.fitness_loss, self._rows.x
        scores, targets = self._predicted[:, None], (self._predicted + self._residuals)[:, None]
        bends = smoothed(loss).on(x).curvature(scores, targets)[:, 0]
        slopes = loss.on(x).slope(scores, targets)[:, 0]
        gradient = (weights * slopes) @ x
        best = -inverse_of(x.T @ ((weights * bends)[:, None] * x)) @ gradient
        return _Common(weights, -self._known.inverse @ gradient, self._residuals - x @ best, best)

    def _drawn_records(
        self,
        party: Party,
        common: "_Common",
        differ: FloatArray,
        apart: bool,
        random: np.random.Generator,
    ) -> Risk:
        """Draw what an owner's records may be like, around its best model θ₀ + u + d."""
        among = None
        if apart and self._known.owners:
            # Of a stranger nothing is known: it may be as far apart as any that something is known of.
            like = sorted(self._known.owners)
            name = (
                party.name if party.name in self._known.owners else like[random.integers(len(like))]
            )
            among = self._known.owners[name].rows
        smooth = math.isfinite(self._problem.fitness_loss.curvature_bound)
        most = min(
            MOST_DRAWN if smooth else MOST_DRAWN_WITH_KINKS, DRAWN_IN_ALL // len(self._parties)
        )
        most = max(FEWEST_DRAWN, most)
        number = min(party.records, most)
        if among is None:
            drawn = random.choice(len(self._rows), number, p=common.weights)
        else:
            drawn = random.choice(among, number)
        if self._problem.fitness_loss.labels:
            return self._with_labels(drawn, among, common, differ, party.records)
        # A few own rows would be fitted, chance and all: they take residuals of everybody's.
        whose = drawn
        if among is not None:
            whose = random.choice(len(self._rows), number, p=common.weights)
        x = self._rows.x[drawn]
        centre = self._theta + common.away + differ
        rows = RowRisk(self._problem.fitness_loss, x, x @ centre + common.residuals[whose])

        def habit(loss: Loss) -> FloatArray:
            return self._habit(loss, common)

        return _DrawnRisk(rows, centre, habit, np.zeros(len(centre)), party.records)

    def _with_labels(
        self,
        drawn: IntArray,
        among: IntArray | None,
        common: "_Common",
        differ: FloatArray,
        records: int,
    ) -> Risk:
        """Return drawn rows, tilted: labels do not move along with a model as numbers do."""
        theta, rows = self._theta, self._known.subset(drawn)
        bends = curvature_of(self._problem, rows, theta)
        if among is None:

            def usual(loss: Loss) -> FloatArray:
                return self._habit(loss, common)

            return _DrawnRisk(rows, theta, usual, -bends @ differ, records)
        own = self._known.subset(among)
        drift = -inverse_of(curvature_of(self._problem, own, theta)) @ own.gradient(theta)
        whole = self._habit(self._problem.fitness_loss, common)

        def habit(loss: Loss) -> FloatArray:
            return self._habit(loss, common) - whole - bends @ drift

        return _DrawnRisk(rows, theta, habit, bends @ (drift - common.away - differ), records)

    def _habit(self, loss: Loss, common: "_Common") -> FloatArray:
        """Return the mean gradient of everybody's records where they are centred, by loss.

        Where targets move along, that is their best model, and it is clipping that makes the mean
        gradient other than 0; else θ₀.
        """
        if loss.key not in common.habits:
            x = self._rows.x
            centre = self._theta if loss.labels else self._theta + common.best
            targets = (self._predicted + self._residuals)[:, None]
            slopes = loss.on(x).slope(x @ centre[:, None], targets)[:, 0]
            common.habits[loss.key] = (common.weights * slopes) @ x
        return common.habits[loss.key]


@dataclass(frozen=True, eq=False)
class _Common:
    """What everybody's records are like in one world.

    Args:
        weights: of the public rows; they add up to 1.
        away: u, where everybody's best model lies from θ₀.
        residuals: of every row, at the best model of the weighted rows.
        best: where that one lies from θ₀; records are moved from there to u.
        habits: mean gradients, by loss, as they are asked for.
    """

    weights: FloatArray
    away: FloatArray
    residuals: FloatArray
    best: FloatArray
    habits: dict[object, FloatArray] = field(default_factory=dict[object, FloatArray])


def _apart(world: int, party: int) -> bool:
    """Whether a party's records are taken to be like its own rows and nothing else, in some world."""
    return (world + party) % 2 == 0
