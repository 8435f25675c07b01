"""A fold of a stand-in made ready for rehearsals: whose rows are whose, and the geometry of costs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.fitness import (
    Optimum,
    Problem,
    Risk,
    RowRisk,
    Yardstick,
    best_constant,
    optimum,
    pooled,
    risk_of,
)
from treaty.forecast.stand_in import Fold
from treaty.forecast.tilt import TiltedRisk, tilted
from treaty.learners import Plan
from treaty.learners.geometry import WINDOW
from treaty.losses import Loss, Windowed

FEWEST_OWN = 5
"""Rows of its own that an owner needs in a fold to be told apart from the others."""
WILD = 5.0
"""How far beyond expectation a cost must be before it is taken for another kind of thing."""
SUBSETS = 4
"""With so many random sets of rows an owner's own rows are compared."""
VARIETY = 2.0
"""How much owners vary in how much they differ: the standard deviation over the typical value."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One fold made ready: its rows as every party's records, and what can be said of them.

    Args:
        risks: the stand-in of every party.
        rows: how many rows the fold has.
        stick: what fitness is measured with.
        sampling: ½ tr(H⁻¹G): n times what one sample of n records costs its own best model.
        spectrum: the eigenvalues of H^(−½) G H^(−½), along which that cost falls.
        spread: a square root of H⁻¹GH⁻¹, by which a model of n rows is off.
        fitness: f(θ*) as it would be with the plan's numbers of records.
        constant: f of the best constant.
        public: f of the best model of rows as they are in the stand-in, whoever's, were they many.
        centre: the best model of this fold's rows as they are.
        at_hand: the share of all records that are not stood in for but at hand.
        pulls: by how much every party's gradient differs there, times H^(−½). A model weighed by w_i
            in place of the shares s_i costs ½‖Σ (w_i − s_i) pull_i‖² because owners differ.
        apart: what each party's own model costs because the party differs, not because its records
            are few.
        own: f of the very model of a party whose records are at hand, by name.
    """

    risks: Mapping[str, Risk]
    rows: int
    stick: Yardstick
    sampling: float
    spectrum: FloatArray
    spread: FloatArray
    fitness: float
    constant: float
    public: float
    centre: FloatArray
    at_hand: float
    pulls: FloatArray
    apart: FloatArray
    own: Mapping[str, float]


def stages(plan: Plan, folds: Sequence[Fold]) -> list[Stage]:
    """Make every fold ready for a plan's rehearsals."""
    return [_stage(plan, fold) for fold in folds]


@dataclass(frozen=True, eq=False)
class _Part:
    """What stands in for a party, or, without a name, for all that have nothing of their own.

    Args:
        name: the party.
        share: its share of all records.
        risk: its rows.
        trust: which part of the difference of its own rows' gradient from everybody's is kept.
        rows: how many its own rows are.
        exact: whether they are its very records.
    """

    name: str
    share: float
    risk: Risk
    trust: float = 0.0
    rows: int = 0
    exact: bool = False


@dataclass(frozen=True, eq=False)
class _Geometry:
    """What being off costs around a model.

    Args:
        root: H^(−½): a pull g costs ½‖rootᵀg‖².
        spectrum: the eigenvalues of rootᵀ G root, G the covariance of one record's gradient.
        spread: root times a square root of rootᵀ G root.
    """

    root: FloatArray
    spectrum: FloatArray
    spread: FloatArray

    @classmethod
    def around(cls, problem: Problem, theta: FloatArray, parts: Sequence[_Part]) -> "_Geometry":
        kinks = math.isinf(problem.fitness_loss.curvature_bound)
        hessian = problem.ridge * np.eye(problem.dimension)
        covariance = np.zeros_like(hessian)
        for part in parts:
            risk = part.risk
            smooth = risk.with_loss(Windowed(problem.fitness_loss, WINDOW)) if kinks else risk
            mean = risk.gradient(theta)
            hessian += part.share * smooth.hessian(theta)
            covariance += part.share * (risk.gradient_covariance(theta) - np.outer(mean, mean))
        values, vectors = np.linalg.eigh(hessian)
        root = vectors / np.sqrt(np.maximum(values, 1e-8 * values[-1]))
        spectrum, axes = np.linalg.eigh(root.T @ covariance @ root)
        spectrum = np.maximum(spectrum, 0.0)
        return cls(root, spectrum, root @ (axes * np.sqrt(spectrum)))


def _stage(plan: Plan, fold: Fold) -> Stage:
    problem = plan.problem
    assert fold.others is not None
    total = sum(party.records for party in plan.parties)
    everybody = RowRisk(problem.fitness_loss, fold.x, fold.y)
    whole = [_Part("", 1.0, everybody)]
    centre = _best(problem, whole).theta
    around = _Geometry.around(problem, centre, whole)
    trust = _trust(problem, fold)
    parts = _parts(plan, fold, trust)
    others = _parts(plan, fold.others, trust)
    union = pooled([part.risk for part in parts], [part.share for part in parts])
    stick = Yardstick(problem, union, _best(problem, parts))
    geometry = _Geometry.around(problem, stick.best.theta, parts)
    sampling = 0.5 * float(geometry.spectrum.sum())
    at_hand = sum(part.share for part in parts if part.exact)
    # The best model of the other half, judged on this one, is off by what its own rows and those
    # of the owners cost; the best of this half would flatter itself far more.
    elsewhere = float(stick.fitness(_best(problem, others).theta))
    off = _error(others, len(fold.others.y)) + (1 - at_hand) / total
    apart = [_Part("", 1.0, RowRisk(problem.fitness_loss, fold.others.x, fold.others.y))]
    pulls = _pulls(plan, parts, everybody, centre, around)
    shares = np.array([party.records / total for party in plan.parties])
    differ = 0.5 * np.sum((pulls - shares @ pulls) ** 2, axis=1)
    own = {part.name: _best(problem, [replace(part, share=1.0)]) for part in parts if part.exact}
    return Stage(
        risks=_trained_on(plan, parts),
        rows=len(fold.y),
        stick=stick,
        sampling=sampling,
        spectrum=geometry.spectrum,
        spread=geometry.spread,
        fitness=elsewhere - sampling * off,
        constant=float(stick.fitness(best_constant(problem, apart[0].risk))),
        public=float(stick.fitness(_best(problem, apart).theta)) - sampling / len(fold.others.y),
        centre=centre,
        at_hand=at_hand,
        pulls=pulls,
        apart=_apart(plan, fold.others, stick, sampling, differ),
        own={name: float(stick.fitness(model.theta)) for name, model in own.items()},
    )


def _trust(problem: Problem, fold: Fold) -> dict[str, float]:
    """Return which part of the difference of each owner's gradient from everybody's is to be believed.

    With n_i rows E‖pull_i‖² = τ_i² + tr(H⁻¹G)/n_i: how much the owner differs, and chance. τ_i² is
    estimated from its own rows as far as they tell, and from the typical owner's beyond that; the part
    is such that the owner differs from the others by that much, not by as much as few rows do.
    """
    if fold.owner is None:
        return {}
    names, counts, squares, spectrum = _squares(problem, fold)
    if not len(names):
        return {}
    chance = float(spectrum.sum()) / counts
    # The median owner, not the mean: a few differ wildly. Squares are skewed, their median is low.
    raised = squares / median_over_mean(spectrum) - chance
    order = np.argsort(raised)
    middle = int(np.searchsorted(np.cumsum(counts[order]), 0.5 * float(counts.sum())))
    typical = max(0.0, float(raised[order[middle]]))
    prior = (VARIETY * typical) ** 2
    error = 2 * (typical + chance) ** 2 / problem.dimension
    differ = typical + prior / (prior + error) * (squares - chance - typical)
    weights = np.sqrt(np.clip(differ, 0.0, squares) / squares)
    return dict(zip(names, weights.tolist(), strict=True))


def _squares(problem: Problem, fold: Fold) -> tuple[list[str], FloatArray, FloatArray, FloatArray]:
    """Return the owners with enough rows, how many these are, their ‖pull_i‖², and the spectrum."""
    assert fold.owner is not None
    everybody = RowRisk(problem.fitness_loss, fold.x, fold.y)
    whole = [_Part("", 1.0, everybody)]
    centre = _best(problem, whole).theta
    geometry = _Geometry.around(problem, centre, whole)
    mean = everybody.gradient(centre)
    every, of = np.unique(fold.owner, return_counts=True)
    names = [str(name) for name in every[of >= FEWEST_OWN]]
    squares: list[float] = []
    for name in names:
        mine = fold.owner == name
        risk = RowRisk(everybody.loss, fold.x[mine], fold.y[mine])
        pull = geometry.root.T @ (risk.gradient(centre) - mean)
        squares.append(max(float(pull @ pull), 1e-300))
    return names, of[of >= FEWEST_OWN].astype(float), np.array(squares), geometry.spectrum


def _parts(plan: Plan, fold: Fold, trust: Mapping[str, float]) -> list[_Part]:
    """Return what stands in for every party; parties with nothing of their own are one part."""
    loss = plan.problem.fitness_loss
    total = sum(party.records for party in plan.parties)
    everybody = RowRisk(loss, fold.x, fold.y)
    centre = _best(plan.problem, [_Part("", 1.0, everybody)]).theta
    mean = everybody.gradient(centre)
    parts: list[_Part] = []
    rest = 0.0
    for party in plan.parties:
        share = party.records / total
        if party.name in fold.exact:
            x, y = fold.exact[party.name]
            parts.append(_Part(party.name, share, RowRisk(loss, x, y), 1.0, len(y), True))
            continue
        mine = np.zeros(0, bool) if fold.owner is None else fold.owner == party.name
        rows = int(mine.sum())
        weight = trust.get(party.name, 0.0)
        if rows < FEWEST_OWN:
            rest += share
            continue
        own = RowRisk(loss, fold.x[mine], fold.y[mine])
        slope = (weight - 1) * (own.gradient(centre) - mean)
        parts.append(_Part(party.name, share, TiltedRisk(own, slope, centre), weight, rows))
    if rest > 0:
        parts.append(_Part("", rest, everybody))
    return parts


def _error(parts: Sequence[_Part], rows: int) -> float:
    """Return Σ over rows of (weight of the row)²: what chance in them costs the model of all parts."""
    known = [part for part in parts if not part.exact]
    apart = sum(part.share * part.trust for part in known)
    common = sum(part.share for part in known) - apart
    own = sum((part.share * part.trust) ** 2 / part.rows for part in known if part.trust > 0)
    return own + (2 * apart * common + common**2) / rows


def _pulls(
    plan: Plan, parts: Sequence[_Part], everybody: Risk, centre: FloatArray, geometry: _Geometry
) -> FloatArray:
    mean = everybody.gradient(centre)
    pulls = np.zeros((len(plan.parties), len(centre)))
    chance = float(geometry.spectrum.sum()) / everybody.n
    index = {party.name: i for i, party in enumerate(plan.parties)}
    for part in parts:
        if not part.name:
            continue
        pull = geometry.root.T @ (part.risk.gradient(centre) - mean)
        if part.exact:
            # The model it is compared with is off itself, by chance.
            square = float(pull @ pull)
            pull *= math.sqrt(max(0.0, 1 - chance / square)) if square > 0 else 0.0
        pulls[index[part.name]] = pull
    return pulls


def median_over_mean(spectrum: FloatArray) -> float:
    """Return the median of Σ λ_j z_j² over its mean, as Wilson and Hilferty approximate it.

    Squares of normal z_j are meant; Σ λ_j z_j² is taken for a χ² of as many degrees of freedom as have
    its variance.
    """
    number = float(spectrum.sum() ** 2 / max(float(spectrum @ spectrum), 1e-300))
    return (1 - 2 / (9 * max(number, 1.0))) ** 3


def _apart(
    plan: Plan, half: Fold, stick: Yardstick, sampling: float, differ: FloatArray
) -> FloatArray:
    """Return what owners' own models cost because owners differ.

    Mostly that is half their squared pull. But an owner whose records leave out what others have, such
    as airports it does not fly to, has no curvature there, and its own model may be anything: its cost
    is then far beyond that, and beyond what models of as few rows of everybody's cost by chance.
    """
    if half.owner is None:
        return differ
    problem, found = plan.problem, differ.copy()
    best = float(stick.best.value)
    random = np.random.default_rng(len(half.y))

    def cost(rows: IntArray) -> float:
        risk = RowRisk(problem.fitness_loss, half.x[rows], half.y[rows])
        return float(stick.fitness(_best(problem, [_Part("", 1.0, risk)]).theta)) - best

    for i, party in enumerate(plan.parties):
        mine = np.flatnonzero(half.owner == party.name)
        if len(mine) < FEWEST_OWN or party.name in half.exact:
            continue
        alone = cost(mine)
        if alone < WILD * (differ[i] + sampling / len(mine)):
            continue
        chance = [
            cost(random.choice(len(half.y), len(mine), replace=False)) for _ in range(SUBSETS)
        ]
        if alone > WILD * max(chance):
            found[i] = alone - float(np.mean(chance))
    return found


def _trained_on(plan: Plan, parts: Sequence[_Part]) -> dict[str, Risk]:
    """Return every party's rows under the loss that is trained."""
    made: dict[int, Risk] = {}
    risks = {part.name: _through_moments(plan.problem.loss, part.risk, made) for part in parts}
    return {party.name: risks.get(party.name) or risks[""] for party in plan.parties}


def _best(problem: Problem, parts: Sequence[_Part]) -> Optimum:
    made: dict[int, Risk] = {}
    risks = [_through_moments(problem.fitness_loss, part.risk, made) for part in parts]
    return optimum(problem, pooled(risks, [part.share for part in parts]))


def _through_moments(loss: Loss, risk: Risk, made: dict[int, Risk]) -> Risk:
    """Return the same rows under a loss, through moments where it has them; each set of rows once."""
    if isinstance(risk, TiltedRisk):
        return tilted(_through_moments(loss, risk.risk, made), risk.slope, risk.centre)
    assert isinstance(risk, RowRisk)
    if id(risk) not in made:
        made[id(risk)] = risk_of(loss, risk.x, risk.y)
    return made[id(risk)]
