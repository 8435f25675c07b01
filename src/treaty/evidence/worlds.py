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
from treaty.evidence.parts import FEWEST_OWN, Part, weighted
from treaty.evidence.stage import Stage, StageRecords
from treaty.fitness import Problem, Risk, RowRisk, Yardstick, best_constant, optimum, pooled
from treaty.fitness.curvature import curvature_of, smoothed
from treaty.fitness.tilt import TiltedRisk
from treaty.losses import Loss
from treaty.plans import Party

VARIETY = 2.0
"""The prior standard deviation of τ across owners, over its typical value."""
LEAST_BESIDE = 0.05
"""Where nearly all rows are one owner's, nothing tells by how much it differs from the others."""
MOST_DRAWN_WITH_KINKS = 300
"""Of an owner, for losses with kinks, whose optima take long."""
UNSEEN = 2.0
"""Worlds are made of the public rows: what is rare, and not among them, no world shows."""
MOST_DRAWN, DRAWN_IN_ALL, FEWEST_DRAWN = 1_000, 40_000, 60
"""How many records are drawn: of an owner at most, of all, and of an owner at least, if it has them.

Chance in them is then made as small as it is in all records.
"""
NEXT_TO_NOTHING = 1e-6
"""Curvature below this share of the largest counts as none."""


@dataclass(frozen=True, eq=False)
class _Known:
    """What the public rows tell about one owner.

    Args:
        rows: which are its own.
        gradient: their mean gradient at θ₀.
        curvature: their curvature there.
        scatter: the covariance of one of their gradients by chance.
    """

    rows: IntArray
    gradient: FloatArray
    curvature: FloatArray
    scatter: FloatArray


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
        self._theta = rows.best(problem).theta
        self._slopes, self._inverse, self._residuals = _chance(problem, rows, self._theta)
        self._root = _root(self._inverse)
        self._rank = max(1, int(np.linalg.matrix_rank(self._inverse)))
        self._predicted = rows.x @ self._theta
        self._constant = best_constant(problem, rows.risk(problem))
        scatter = self._scatter(np.arange(len(rows)))
        self._sampling = 0.5 * float(np.trace(self._inverse @ scatter))
        self._known = {
            str(name): self._tell(np.flatnonzero(owner == name))
            for name, count in zip(*np.unique(owner, return_counts=True), strict=True)
            if count >= FEWEST_OWN
        }
        self._told = self._how_owners_differ()

    def draw(self, index: int, random: np.random.Generator) -> Stage:
        """Draw one world."""
        problem, theta = self._problem, self._theta
        common, variety = self._drawn_common(random), self._drawn_variety(random)
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
            differ = self._drawn_difference(party.name, common.away, variety, random)
            risk = self._drawn_records(party, common, differ, _apart(index, i), random)
            parts.append(Part(party.name, share, risk))
            away = common.away + differ
            pull = curvature_of(problem, risk, theta) @ away
            pulls[i] = -self._root.T @ pull
            if problem.fitness_loss.labels:
                raised += share * (0.5 * float(away @ pull) + self._sampling / len(self._rows))
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
                "columns: give more rows, or leave `by` out"
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

    def _scatter(self, rows: IntArray) -> FloatArray:
        x = self._rows.x[rows]
        return x.T @ (self._slopes[rows, None] ** 2 * x) / len(rows)

    def _subset(self, rows: IntArray) -> RowRisk:
        return RowRisk(self._problem.fitness_loss, self._rows.x[rows], self._rows.y[rows])

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
        best = -_inverse(x.T @ ((weights * bends)[:, None] * x)) @ gradient
        return _Common(weights, -self._inverse @ gradient, self._residuals - x @ best, best)

    def _tell(self, rows: IntArray) -> _Known:
        mine = self._subset(rows)
        return _Known(
            rows,
            mine.gradient(self._theta),
            curvature_of(self._problem, mine, self._theta),
            self._scatter(rows),
        )

    def _how_owners_differ(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what the rows of every known owner say of its τ, what chance makes of it, and rows.

        Of m_i rows E gᵀH⁻¹g = τ tr((H⁻¹H_i)²) + tr(H⁻¹G_i)/m_i: how much the owner differs, and chance.
        """
        inverse = self._inverse
        weights = np.array([len(known.rows) for known in self._known.values()]) / len(self._rows)
        told: list[tuple[float, float, float]] = []
        for known, weight in zip(self._known.values(), weights, strict=True):
            through = inverse @ known.curvature
            # θ₀ lies amidst the owners, the nearer to one the more rows are its own.
            beside = max(1 - 2 * weight + float(weights @ weights), LEAST_BESIDE)
            unit = max(beside * float(np.sum(through * through.T)), LEAST_BESIDE)
            chance = float(np.sum(inverse * known.scatter)) / len(known.rows)
            square = float(known.gradient @ inverse @ known.gradient)
            told.append(((square - chance) / unit, chance / unit, float(len(known.rows))))
        found, chance, counts = np.array(told).reshape(-1, 3).T
        return found, chance, counts

    def _drawn_variety(self, random: np.random.Generator) -> dict[str, tuple[float, float]]:
        """Draw how much owners differ in a world: mean and variance of each one's τ, "" for strangers.

        The median owner is typical, as a few differ wildly; few owners do not tell what is typical.
        """
        found, chance, counts = self._told
        least = 1e-3 * self._sampling / self._rank
        if not len(found):
            return {"": (least, (VARIETY * least) ** 2)}
        shares = counts / counts.sum()
        order = np.argsort(found)
        middle = int(np.searchsorted(np.cumsum(shares[order]), 0.5))
        typical = max(least, float(found[order[middle]]))
        free = np.minimum(self._rank, counts)
        error = 2 * (typical + chance) ** 2 / free
        doubt = float(np.sum(shares**2 * (error + (VARIETY * typical) ** 2)))
        typical = max(least, float(_gamma(typical, doubt, random)))
        prior = (VARIETY * typical) ** 2
        weight = prior / (prior + error)
        mean = np.maximum(typical + weight * (found - typical), 0.05 * typical)
        believed = {"": (typical, prior)}
        for name, one, left in zip(self._known, mean, prior * (1 - weight), strict=True):
            believed[name] = (float(one), float(left))
        return believed

    def _drawn_difference(
        self,
        name: str,
        common: FloatArray,
        variety: Mapping[str, tuple[float, float]],
        random: np.random.Generator,
    ) -> FloatArray:
        """Return a draw of d, where an owner's best model lies from the others' common one."""
        prior = _gamma(*variety.get(name, variety[""]), random) * self._inverse
        known = self._known.get(name)
        if known is None:
            return _root(prior) @ random.standard_normal(len(common))
        through = known.curvature @ prior
        seen = through @ known.curvature + known.scatter / len(known.rows)
        gain = through.T @ _inverse(seen)
        believed = -gain @ (known.gradient + known.curvature @ common)
        left = _root(prior - gain @ through)
        return believed + left @ random.standard_normal(len(common))

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
        if apart and self._known:
            # Of a stranger nothing is known: it may be as far apart as any that something is known of.
            like = sorted(self._known)
            name = party.name if party.name in self._known else like[random.integers(len(like))]
            among = self._known[name].rows
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
        theta, rows = self._theta, self._subset(drawn)
        bends = curvature_of(self._problem, rows, theta)
        if among is None:

            def usual(loss: Loss) -> FloatArray:
                return self._habit(loss, common)

            return _DrawnRisk(rows, theta, usual, -bends @ differ, records)
        own = self._subset(among)
        drift = -_inverse(curvature_of(self._problem, own, theta)) @ own.gradient(theta)
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


def _chance(
    problem: Problem, rows: Rows, theta: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the size of every row's slope by chance, H⁻¹ where there is curvature, and residuals.

    A row that decides its own prediction leaves no residual: with leverage h the expected square is
    1 − h times what it was, so h times the usual square is put back.
    """
    scores, targets = rows.x @ theta[:, None], rows.y[:, None]
    slopes = problem.fitness_loss.on(rows.x).slope(scores, targets)[:, 0]
    bends = smoothed(problem.fitness_loss).on(rows.x).curvature(scores, targets)[:, 0]
    hessian = rows.x.T @ (bends[:, None] * rows.x) / len(rows)
    inverse = _inverse(hessian)
    used = bends * np.einsum("ij,ij->i", rows.x @ inverse, rows.x) / len(rows)
    used = np.minimum(used, 1.0)
    free = max(1.0 - float(used.sum()) / len(rows), 0.1)
    usual = float(np.mean(slopes**2)) / float(np.mean(bends)) / free
    sizes = np.sqrt(slopes**2 + used * usual * bends)
    off = rows.y - scores[:, 0]
    if not problem.fitness_loss.labels:
        off = np.where(off < 0, -1.0, 1.0) * np.sqrt(off**2 + used * float(np.mean(off**2)) / free)
    return sizes, inverse, off


def _gamma(mean: float, variance: float, random: np.random.Generator) -> float:
    """Draw a positive number of this mean and variance."""
    variance = max(variance, 1e-6 * mean**2)
    return float(random.gamma(mean**2 / variance, variance / mean))


def _inverse(hessian: FloatArray) -> FloatArray:
    """Return H⁻¹ where there is curvature, and 0 elsewhere."""
    values, vectors = np.linalg.eigh(hessian)
    there = values > NEXT_TO_NOTHING * values[-1]
    return (vectors[:, there] / values[there]) @ vectors[:, there].T


def _root(covariance: FloatArray) -> FloatArray:
    """Return a square root; what rounding makes negative counts as 0."""
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    return vectors * np.sqrt(np.maximum(values, 0.0))
