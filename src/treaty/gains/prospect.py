"""What the shared model and an owner's own best one may be, as far as anybody can tell beforehand."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy.special import ndtr, ndtri

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness import Risk, RowRisk, curvature_of
from treaty.fitness.curvature import smoothed
from treaty.fitness.tilt import TiltedRisk
from treaty.learners import Survey
from treaty.plans import Plan
from treaty.simulation import simulated_models

DRAWS = 24
PUBLIC_SHARE = 0.02
"""How much of the public curvature counts where an owner's own records have next to none."""
LEAST_SIZE = 0.1
"""The least curvature that any direction is taken to have, over the mean of all."""


@dataclass(frozen=True, eq=False)
class Futures:
    """Draws of what nobody knows yet, each of them one consistent world.

    Args:
        shared: the model that training together comes to, shape (draws, p).
        best: the best model for the owner's own next records, shape (draws, p).
        curvature: what being away from it costs there: an excess of ½dᵀHd, shape (p, p).
    """

    shared: FloatArray
    best: FloatArray
    curvature: FloatArray

    def excess(self, models: FloatArray) -> FloatArray:
        """Return what each draw's model costs more than the owner's best one, shape (draws,).

        Args:
            models: shape (draws, p), or (1, p) for the same model in every draw.
        """
        away = models - self.best
        return _half_square(away, self.curvature)

    def excess_in(self, draw: int, models: FloatArray) -> FloatArray:
        """Return what every model, shape (models, p), costs more than the owner's best one in a draw."""
        return _half_square(models - self.best[draw], self.curvature)


def _half_square(away: FloatArray, curvature: FloatArray) -> FloatArray:
    return 0.5 * np.einsum("di,di->d", away @ curvature, away)


def felt(shared: FloatArray, adapted: FloatArray) -> float:
    """Return which share of a change in the shared model's cost the adapted model feels, 0 to 1.

    The slope of adapted costs on shared ones among models of several trainings, world by world.

    Args:
        shared: what shared models cost in each world, shape (worlds, models).
        adapted: what each of them costs there once it is adapted.
    """
    moves = shared - shared.mean(axis=1, keepdims=True)
    scale = float(np.sum(moves**2))
    if scale == 0:
        return 0.0
    return min(1.0, max(0.0, float(np.sum(moves * adapted)) / scale))


class Prospect:
    """Draws of the model that a plan would come to, before anybody else has shown anything.

    Let θ₀ be the public model, u where the others' best model lies from there, and v where the owner's
    own best one does. Public rows say that u scatters with covariance Σ. The owner differs from the
    others: v − u scatters with T = τH⁻¹, H the curvature of the owner's own records, so that it differs
    in every direction by as much as its own predictions show. The mean gradient of the owner's n records
    at θ₀ is −Hv, and chance. From it τ is estimated, by how much larger it is than Σ and chance make it,
    and drawn as well as that can be known; then v and u are drawn from what is believed of them. For
    each draw public rows, drawn again, are tilted so that their best model is θ₀ + u, and the real
    learner trains on them, with the owner's own records among them and the noise of the real plan.

    Judging draws of a shared model on the owner's records would be wrong: nature's shared model lies as
    near to the owner's own best as owners are alike, a draw that does not know of it lies farther off.
    So each draw of the shared model is judged at its own draw of the owner's best model.

    Args:
        plan: the plan, informed by the public rows.
        survey: what the public rows tell.
        name: the owner that asks.
        seed: of the draws.
    """

    def __init__(self, plan: Plan, survey: Survey, name: str, seed: int = 0) -> None:
        if plan.party(name) is None:
            raise TreatyError(f"{name} is not a party to this treaty")
        self._plan, self._name, self._seed = plan, name, seed
        problem, public = plan.problem, survey.risk
        if not isinstance(public, RowRisk):
            raise TreatyError("a forecast of an owner's own gain needs public rows one by one")
        self._public = public
        self._theta = problem.project(survey.tuned.theta)
        mean = public.gradient(self._theta)
        scatter = public.gradient_covariance(self._theta) - np.outer(mean, mean)
        self._scatter = scatter + 1e-6 * _size(scatter)
        self._curvature = curvature_of(problem, public, self._theta)
        self._covariance = survey.view("tuned").covariance

    def futures(self, own: RowRisk, draws: int = DRAWS, *, few: bool = False) -> Futures:
        """Draw worlds that agree with the public rows and with an owner's own records.

        Args:
            own: the owner's own records, or those of them that may be seen.
            draws: how many.
            few: whether these are but a few rows of the owner, which tell next to nothing of how it
                differs from others: it is then rather taken to be like them.
        """
        random = np.random.default_rng(self._seed)
        own = RowRisk(self._plan.problem.fitness_loss, own.x, own.y)
        curvature = curvature_of(self._plan.problem, own, self._theta)
        away, others = self._believed(own, curvature, random, draws, few=few)
        chance = np.linalg.cholesky(self._scatter) / np.sqrt(self._plan.total)
        shared: list[FloatArray] = []
        for off in others:
            shared.append(
                self._trained(own, self._others(off, chance, random), int(random.integers(1 << 30)))
            )
        return Futures(np.stack(shared), self._theta + away, curvature)

    def _others(self, off: FloatArray, chance: FloatArray, random: np.random.Generator) -> Risk:
        """Return rows that stand in for the others' records: their best model lies at θ₀ + off.

        They are public rows drawn again, so that their curvature is not the very one the learner knows.
        """
        public, problem = self._public, self._plan.problem
        again = random.integers(public.n, size=public.n)
        rows = RowRisk(problem.fitness_loss, public.x[again], public.y[again])
        answered = rows.with_loss(smoothed(problem.loss)).hessian(self._theta)
        slope = -rows.gradient(self._theta) - answered @ off
        slope += chance @ random.standard_normal(len(off))
        return TiltedRisk(rows.with_loss(problem.loss), slope, self._theta)

    def _trained(self, own: Risk, others: Risk, seed: int) -> FloatArray:
        """Train once, with rows that stand in for the others' records."""
        plan = self._plan
        mine = own.with_loss(plan.problem.loss)
        records: Mapping[str, Risk] = {
            party.name: mine if party.name == self._name else others for party in plan.parties
        }
        return simulated_models(plan, records, runs=1, seed=seed)[0]

    def _believed(
        self,
        own: Risk,
        curvature: FloatArray,
        random: np.random.Generator,
        draws: int,
        *,
        few: bool,
    ) -> tuple[FloatArray, FloatArray]:
        """Return draws of v, the owner's best model, and of u, the others', less the public one."""
        gradient, alike = own.gradient(self._theta), self._covariance
        own_scatter = own.gradient_covariance(self._theta) - np.outer(gradient, gradient)
        # A record's gradient scatters as the curvature does, in directions that own records have.
        level = float(np.trace(own_scatter)) / float(np.trace(curvature))
        chance = level / own.n * curvature
        scarce = PUBLIC_SHARE * (self._curvature + LEAST_SIZE * _size(self._curvature))
        one = np.asarray(np.linalg.inv(curvature + scarce), dtype=np.float64)
        best: list[FloatArray] = []
        others: list[FloatArray] = []
        for differ in self._differences(gradient, chance, curvature, one, random, draws, few=few):
            both = alike + differ * one
            through = curvature @ both
            gain = _solved(through @ curvature + chance + 1e-9 * _size(chance), through).T
            best.append(-gain @ gradient + _draw(both - gain @ through, random))
            back = _solved(both, alike).T
            others.append(back @ best[-1] + _draw(alike - back @ alike, random))
        return np.stack(best), np.stack(others)

    def _differences(
        self,
        gradient: FloatArray,
        chance: FloatArray,
        curvature: FloatArray,
        one: FloatArray,
        random: np.random.Generator,
        draws: int,
        *,
        few: bool,
    ) -> FloatArray:
        """Return draws of τ: by how much the own gradient exceeds what chance makes of it.

        With G the covariance of g by chance in the own records, gᵀG⁻¹g has mean tr(G⁻¹C) and variance
        2tr((G⁻¹C)²), where C is the covariance of g: that of chance in own records and public rows, and
        τ times what differences between owners make of it.
        """
        values, vectors = np.linalg.eigh(chance)
        there = values > 1e-6 * values[-1]
        root = vectors[:, there] / np.sqrt(values[there])
        usual = root.T @ (curvature @ self._covariance @ curvature + chance) @ root
        unit = root.T @ curvature @ one @ curvature @ root
        pull = root.T @ gradient
        measured, expected = float(pull @ pull), float(np.trace(usual))
        found = max(0.0, (measured - expected) / float(np.trace(unit)))
        spread = float(np.sqrt(2.0 * float(np.square(usual + found * unit).sum())))
        if few:  # what lies below 0 means that owners are alike, as most are
            drawn = measured + spread * random.standard_normal(draws)
            return np.maximum(0.0, (drawn - expected) / float(np.trace(unit)))
        # Beforehand any τ from 0 on is believed alike: a normal law without its part below 0.
        lowest = float(cast(Any, ndtr)((expected - measured) / spread))
        share = lowest + (1.0 - lowest) * random.uniform(size=draws)
        drawn = measured + spread * ndtri(np.clip(share, 1e-12, 1 - 1e-12))
        return np.maximum(0.0, (drawn - expected) / float(np.trace(unit)))


def _size(matrix: FloatArray) -> FloatArray:
    """Return the identity, as large as a matrix is on average."""
    return float(np.trace(matrix)) / len(matrix) * np.eye(len(matrix))


def _solved(matrix: FloatArray, right: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)


def _draw(covariance: FloatArray, random: np.random.Generator) -> FloatArray:
    """Return a normal draw about 0; what rounding makes negative counts as 0."""
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    return vectors @ (np.sqrt(np.maximum(values, 0.0)) * random.standard_normal(len(values)))
