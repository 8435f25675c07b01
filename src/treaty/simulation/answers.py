"""Simulated owners: the exact answers of every bloc, and the noise on top."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import MomentRisk, Moments, PooledRisk, Risk, pooled
from treaty.plans import Plan
from treaty.questions import Question

_STACKED = 32
"""Up to this many blocs, asking all of them in one product and picking beats gathering matrices."""
_DRAWN = 1 << 18
"""Noise values drawn at once: enough to make the call cheap, few enough to stay in cache."""

Gradients = Callable[[IntArray, FloatArray], FloatArray]


class SimulatedRecords:
    """The records of every bloc; a question is put to another bloc in every run.

    Args:
        plan: whose blocs.
        risks: the records of every party, by name.
    """

    def __init__(self, plan: Plan, risks: Mapping[str, Risk]) -> None:
        missing = [party.name for party in plan.parties if party.name not in risks]
        if missing:
            raise TreatyError(f"there are no records for {', '.join(missing)}")
        of_party = [risks[party.name] for party in plan.parties]
        self._of_bloc = [
            pooled([of_party[i] for i in bloc.members], list(bloc.shares))
            for bloc in plan.blocs_met
        ]
        # One bloc, or owners that all hold the same stand-in: everybody answers alike.
        self._alike = len(self._of_bloc) == 1 or len(set(of_party)) == 1
        self._problem = plan.problem
        self._met = None if self._alike else _Met(self._of_bloc)

    def exact(self, bloc: IntArray, question: Question) -> FloatArray:
        """Return the exact answers to a question, put to a bloc of its own in every run."""
        if self._met is None:
            return question.exact(self._of_bloc[0], self._problem)
        self._met.bloc = bloc
        return question.exact(self._met, self._problem)


class _Met:
    """The records that every run's question is put to: those of `bloc`, one for every run."""

    bloc: IntArray

    def __init__(self, of_bloc: Sequence[Risk]) -> None:
        self._of_bloc = of_bloc
        self._gradients = _gradients(of_bloc)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the mean gradient at every run's θ."""
        return self._gradients(self.bloc, theta)

    def gradient_along(self, theta: FloatArray, axes: FloatArray) -> FloatArray:
        """Return the mean gradient at every run's θ along axes."""
        return self.gradient(theta) @ axes

    def value(self, theta: FloatArray) -> FloatArray:
        """Return the mean loss at every run's θ."""
        loss = np.empty(theta.shape[:-1])
        for index in np.unique(self.bloc):
            asked = self.bloc == index
            loss[asked] = self._of_bloc[index].value(theta[asked])
        return loss

    @property
    def moments(self) -> Moments:
        """The moments of every run's records, with the runs as a leading axis."""
        of_bloc = [risk.moments for risk in self._of_bloc]
        xx, xy = (np.stack(each) for each in zip(*((m.xx, m.xy) for m in of_bloc), strict=True))
        yy = np.array([m.yy for m in of_bloc])
        return Moments(of_bloc[0].n, xx[self.bloc], xy[self.bloc], cast(float, yy[self.bloc]))


def _gradients(of_bloc: Sequence[Risk]) -> Gradients:
    """Return a function from (bloc of every run, θ of every run) to exact mean gradients."""
    common, of_bloc = _without_common(of_bloc)
    own = _of_its_own(of_bloc)
    return own if common is None else lambda bloc, theta: own(bloc, theta) + common.gradient(theta)


def _without_common(of_bloc: Sequence[Risk]) -> tuple[Risk | None, Sequence[Risk]]:
    """Part what all pools have in common, to be asked once for all, from what each has of its own."""
    pools = [risk for risk in of_bloc if isinstance(risk, PooledRisk)]
    if len(pools) < len(of_bloc):
        return None, of_bloc
    members = [list(zip(pool.risks, pool.weights, strict=True)) for pool in pools]
    shared = set(members[0]).intersection(*members[1:])
    if not shared or any(len(has) == len(shared) for has in members):
        return None, of_bloc
    in_common = [part for part in members[0] if part in shared]
    return _pool(in_common), [
        _pool([part for part in has if part not in shared]) for has in members
    ]


def _pool(weighted: Sequence[tuple[Risk, float]]) -> Risk:
    return pooled([risk for risk, _ in weighted], [weight for _, weight in weighted])


def _of_its_own(of_bloc: Sequence[Risk]) -> Gradients:
    moments = [risk.moments for risk in of_bloc if isinstance(risk, MomentRisk)]
    if len(moments) == len(of_bloc):
        return _from_moments(
            np.stack([2.0 * m.xx for m in moments]), np.stack([2.0 * m.xy for m in moments])
        )

    def from_rows(bloc: IntArray, theta: FloatArray) -> FloatArray:
        answer = np.empty_like(theta)
        for index in np.unique(bloc):
            asked = bloc == index
            answer[asked] = of_bloc[index].gradient(theta[asked])
        return answer

    return from_rows


def _from_moments(xx: FloatArray, xy: FloatArray) -> Gradients:
    """Squared loss: Q_i(θ) = 2A_iθ − 2b_i, a different i in every run."""
    blocs, p, _ = xx.shape
    if blocs > _STACKED:
        return lambda bloc, theta: np.matmul(xx[bloc], theta[:, :, None])[:, :, 0] - xy[bloc]
    side_by_side = np.ascontiguousarray(xx.transpose(2, 0, 1).reshape(p, blocs * p))

    def pick(bloc: IntArray, theta: FloatArray) -> FloatArray:
        # Row r·blocs + i of the product is bloc i's answer to run r.
        every: FloatArray = (theta @ side_by_side).reshape(-1, p)
        mine = cast(FloatArray, every.take(np.arange(len(theta)) * blocs + bloc, axis=0))
        return mine - xy.take(bloc, axis=0)

    return pick


class SimulatedNoise:
    """The noise in a bloc's mean answer: Σ over members of share · scale · (unit noise).

    Unit draws come in the order step, run, member, coordinate, so that a seed gives the same draws
    whatever the scales: plans compared under one seed share their randomness.
    """

    def __init__(self, plan: Plan, random: np.random.Generator, runs: int) -> None:
        blocs = plan.blocs_met
        widest = max(len(bloc.members) for bloc in blocs)
        self._table = np.zeros((len(blocs), widest))
        for row, bloc in zip(self._table, blocs, strict=True):
            row[: len(bloc.members)] = bloc.shares * plan.scales[list(bloc.members)]
        self._mechanism = plan.mechanism
        self._random = random
        shape = (runs, widest, plan.learner_class.asks.length(plan.problem))
        self._chunk = (min(plan.horizon, max(1, _DRAWN // int(np.prod(shape)))), *shape)
        self._drawn = iter(())
        self.silent = not self._table.any()

    def next(self, bloc: IntArray) -> FloatArray:
        """Return the noise of one step, shape (runs, length)."""
        unit = next(self._drawn, None)
        if unit is None:
            self._drawn = iter(self._mechanism.draw(self._random, self._chunk))
            unit = next(self._drawn)
        scale = self._table.take(bloc, axis=0)
        if scale.shape[1] == 1:
            return unit[:, 0] * scale
        return np.einsum("rm,rmp->rp", scale, unit)
