"""Simulated owners: the exact mean gradients of every bloc, and the noise on top."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np

from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import MomentRisk, PooledRisk, Risk, pooled
from treaty.learners import Bloc, Plan

_STACKED = 32
"""Up to this many blocs, asking all of them in one product and picking beats gathering matrices."""
_DRAWN = 1 << 18
"""Noise values drawn at once: enough to make the call cheap, few enough to stay in cache."""

Exact = Callable[[IntArray, FloatArray], FloatArray]


def exact_answers(plan: Plan, blocs: Sequence[Bloc], risks: Mapping[str, Risk]) -> Exact:
    """Return a function from (bloc of every run, θ of every run) to exact mean gradients."""
    missing = [party.name for party in plan.parties if party.name not in risks]
    if missing:
        raise TreatyError(f"there are no records for {', '.join(missing)}")
    of_party = [risks[party.name] for party in plan.parties]
    of_bloc = [pooled([of_party[i] for i in b.members], list(b.shares)) for b in blocs]
    if len(of_bloc) == 1 or len({id(risks[party.name]) for party in plan.parties}) == 1:
        # One bloc, or owners that all hold the same stand-in: everybody answers alike.
        return lambda bloc, theta: of_bloc[0].gradient(theta)
    common, of_bloc = _apart(of_bloc)
    own = _of_its_own(of_bloc)
    return own if common is None else lambda bloc, theta: own(bloc, theta) + common.gradient(theta)


def _apart(of_bloc: Sequence[Risk]) -> tuple[Risk | None, Sequence[Risk]]:
    """Part what all pools have in common, to be asked once for all, from what each has of its own."""
    pools = [risk for risk in of_bloc if isinstance(risk, PooledRisk)]
    if len(pools) < len(of_bloc):
        return None, of_bloc
    inside = [{(id(r), w) for r, w in zip(p.risks, p.weights, strict=True)} for p in pools]
    shared = set[tuple[int, float]].intersection(*inside)
    if not shared or any(len(has) == len(shared) for has in inside):
        return None, of_bloc
    members = [list(zip(p.risks, p.weights, strict=True)) for p in pools]
    in_common = [(r, w) for r, w in members[0] if (id(r), w) in shared]
    own = [[(r, w) for r, w in has if (id(r), w) not in shared] for has in members]
    return _pool(in_common), [_pool(has) for has in own]


def _pool(weighted: Sequence[tuple[Risk, float]]) -> Risk:
    return pooled([risk for risk, _ in weighted], [weight for _, weight in weighted])


def _of_its_own(of_bloc: Sequence[Risk]) -> Exact:
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


def _from_moments(xx: FloatArray, xy: FloatArray) -> Exact:
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


class Noise:
    """The noise in a bloc's mean answer: Σ over members of share · scale · (unit noise).

    Unit draws come in the order step, run, member, coordinate, so that a seed gives the same draws
    whatever the scales: plans compared under one seed share their randomness.
    """

    def __init__(
        self, plan: Plan, blocs: Sequence[Bloc], random: np.random.Generator, runs: int
    ) -> None:
        widest = max(len(bloc.members) for bloc in blocs)
        self._table = np.zeros((len(blocs), widest))
        for row, bloc in zip(self._table, blocs, strict=True):
            row[: len(bloc.members)] = bloc.shares * plan.scales[list(bloc.members)]
        self._mechanism = plan.mechanism
        self._random = random
        shape = (runs, widest, plan.problem.dimension)
        self._chunk = (max(1, _DRAWN // int(np.prod(shape))), *shape)
        self._drawn = iter(())
        self.silent = not self._table.any()

    def next(self, bloc: IntArray) -> FloatArray:
        """Return the noise of one step, shape (runs, p)."""
        unit = next(self._drawn, None)
        if unit is None:
            self._drawn = iter(self._mechanism.draw(self._random, self._chunk))
            unit = next(self._drawn)
        scale = self._table.take(bloc, axis=0)
        if scale.shape[1] == 1:
            return unit[:, 0] * scale
        return np.einsum("rm,rmp->rp", scale, unit)
