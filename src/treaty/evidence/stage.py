"""A fold made ready for rehearsals: whose rows are whose, what is best, what being off costs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treaty.arrays import FloatArray
from treaty.evidence.costs import CostGeometry, costs_around
from treaty.evidence.folds import Fold, Half, Rows, through_moments
from treaty.evidence.parts import (
    FEWEST_OWN,
    Part,
    around_everybody,
    best_of,
    parts_of,
    rows_weighed,
    trust_in,
    weighted,
)
from treaty.fitness import Problem, Risk, Yardstick, best_constant, pooled
from treaty.losses import Loss
from treaty.plans import Party

WILD = 5.0
"""How many times the quadratic approximation a measured cost must be before it replaces it."""
NEAR = 0.1
"""So far above the best model of the rows themselves a model of others is taken as it is."""
SUBSETS = 4
"""With so many random sets of rows an owner's own rows are compared."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One fold made ready, for any plan of one problem and its parties, whatever clip, noise or method.

    Args:
        records: what stands in for every party's records, by name, under the loss that is trained.
        evidence_rows: how many rows of the stand-in it speaks for.
        stick: what fitness is measured with.
        costs: what being off costs around the best model.
        fitness: f(θ*) as it would be with the parties' numbers of records.
        constant: f of the best constant.
        public: f of a model of unlimited rows of the stand-in's population: the other half's best model,
            less what its few rows cost it.
        centre: the best model of all of this fold's rows, whoever's.
        everybody: these rows.
        at_hand: the share of all records that are not stood in for but at hand.
        pulls: by how much every party's gradient differs there, times H^(−½). A model weighed by w_i
            in place of the shares s_i costs ½‖Σ (w_i − s_i) pull_i‖² because owners differ.
        difference_costs: what each party's own model costs because the party differs from the others,
            not because its records are few.
        own: f of the very model of a party whose records are at hand, by name.
        own_costs: where owners are drawn as they may be: what each party's own model costs, measured.
        apart: in that case: whether a party's records are like its own rows and nothing else, rather
            than like everybody's.
        unseen: by what factor the variance among stages falls short of what is not known.
        informed: whether its rows are the very ones that the learner has, so that the learner begins
            where it really does.
    """

    records: Callable[[Loss], Mapping[str, Risk]]
    evidence_rows: int
    stick: Yardstick
    costs: CostGeometry
    fitness: float
    constant: float
    public: float
    centre: FloatArray
    everybody: Rows
    at_hand: float
    pulls: FloatArray
    difference_costs: FloatArray
    own: Mapping[str, float]
    own_costs: FloatArray | None = None
    apart: tuple[bool, ...] = ()
    unseen: float = 1.0
    informed: bool = False


def stages(problem: Problem, parties: Sequence[Party], folds: Sequence[Fold]) -> list[Stage]:
    """Make every fold ready for rehearsals of plans of this problem among these parties."""
    return [_stage(problem, parties, fold) for fold in folds]


def _stage(problem: Problem, parties: Sequence[Party], fold: Fold) -> Stage:
    judged, others = fold.judged, fold.others
    total = sum(party.records for party in parties)
    around = around_everybody(problem, judged)
    trust = trust_in(problem, judged, around)
    parts = parts_of(problem, parties, judged, trust)
    other_parts = parts_of(problem, parties, others, trust)
    union = pooled([part.risk for part in parts], [part.share for part in parts])
    stick = Yardstick(problem, union, best_of(problem, parts, judged.everybody))
    costs = costs_around(problem, stick.best.theta, weighted(parts))
    sampling = costs.sampling
    at_hand = sum(part.share for part in parts if part.exact)
    # The best model of the other half, judged on this one, is off by what its own rows and those
    # of the owners cost; the best of this half would flatter itself far more.
    elsewhere = float(stick.fitness(best_of(problem, other_parts, others.everybody).theta))
    # Where a few rows decide about it, it may be off far more. No model does better than the best one;
    # and none does better here than the best of this half, so that near that there is nothing to mend.
    tuned = math.inf
    if elsewhere > (1 + NEAR) * float(stick.best.value):
        tuned = float(stick.fitness(others.everybody.tuned(problem)))
    off = rows_weighed(other_parts, len(others.everybody)) + (1 - at_hand) / total
    pulls = _pulls(problem, parties, parts, judged, around)
    shares = np.array([party.records / total for party in parties])
    half_squares = 0.5 * np.sum((pulls - shares @ pulls) ** 2, axis=1)
    own = {name: rows.best(problem) for name, rows in judged.exact.items()}
    public = float(stick.fitness(others.everybody.best(problem).theta)) - sampling / len(
        others.everybody
    )
    return Stage(
        records=StageRecords(parties, parts),
        evidence_rows=2 * len(judged.everybody),
        stick=stick,
        costs=costs,
        fitness=min(elsewhere - sampling * off, tuned),
        constant=float(stick.fitness(best_constant(problem, others.everybody.risk(problem)))),
        public=min(public, tuned),
        centre=judged.everybody.best(problem).theta,
        everybody=judged.everybody,
        at_hand=at_hand,
        pulls=pulls,
        difference_costs=_difference_costs(problem, parties, others, stick, sampling, half_squares),
        own={name: float(stick.fitness(model.theta)) for name, model in own.items()},
    )


class StageRecords:
    """Every party's rows under a loss that is trained; made once for every loss."""

    def __init__(self, parties: Sequence[Party], parts: Sequence[Part]) -> None:
        self._names = [party.name for party in parties]
        self._parts = parts
        self._made: dict[object, Mapping[str, Risk]] = {}

    def __call__(self, loss: Loss) -> Mapping[str, Risk]:
        """Return every party's rows under a loss, by name."""
        if loss.key not in self._made:
            risks = {part.name: through_moments(loss, part.risk) for part in self._parts}
            self._made[loss.key] = {name: risks.get(name) or risks[""] for name in self._names}
        return self._made[loss.key]


def _pulls(
    problem: Problem,
    parties: Sequence[Party],
    parts: Sequence[Part],
    judged: Half,
    around: CostGeometry,
) -> FloatArray:
    centre, everybody = judged.everybody.best(problem).theta, judged.everybody.risk(problem)
    mean = everybody.gradient(centre)
    pulls = np.zeros((len(parties), len(centre)))
    chance = float(around.spectrum.sum()) / everybody.n
    index = {party.name: i for i, party in enumerate(parties)}
    for part in parts:
        if not part.name:
            continue
        pull = around.pull(part.risk.gradient(centre) - mean)
        if part.exact:
            # The model it is compared with is off itself, by chance.
            square = float(pull @ pull)
            pull *= math.sqrt(max(0.0, 1 - chance / square)) if square > 0 else 0.0
        pulls[index[part.name]] = pull
    return pulls


def _difference_costs(
    problem: Problem,
    parties: Sequence[Party],
    half: Half,
    stick: Yardstick,
    sampling: float,
    half_squares: FloatArray,
) -> FloatArray:
    """Return what owners' own models cost because owners differ.

    Mostly that is half their squared pull. But an owner whose records leave out what others have, such
    as airports it does not fly to, has no curvature there, and its own model may be anything: its cost
    is then far beyond that, and beyond what models of as few rows of everybody's cost by chance.
    """
    if half.owner is None:
        return half_squares
    found = half_squares.copy()
    best = float(stick.best.value)
    every = len(half.everybody)
    random = np.random.default_rng(every)

    def cost(rows: Rows) -> float:
        return float(stick.fitness(rows.best(problem).theta)) - best

    for i, party in enumerate(parties):
        mine = half.own(party.name)
        if len(mine) < FEWEST_OWN or party.name in half.exact:
            continue
        alone = cost(mine)
        if alone < WILD * (half_squares[i] + sampling / len(mine)):
            continue
        chance = [
            cost(half.some(random.choice(every, len(mine), replace=False))) for _ in range(SUBSETS)
        ]
        if alone > WILD * max(chance):
            found[i] = alone - float(np.mean(chance))
    return found
