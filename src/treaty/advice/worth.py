"""The worth of a coalition, from one rehearsal: fast enough to compare a million of them.

A coalition that weighs owner i by w_i, judged on everybody's records with their shares s_i, has

    ψ ≈ optimisation + κ Σ w_i² v_i + (½/f*) (Σ (w_i − s_i)² tr(H⁻¹G)/n_i + ‖Σ (w_i − s_i) pull_i‖²)

with v_i the variance of owner i's noise: what noise costs, what fewer records cost, and what it costs
that owners differ. κ comes from a rehearsal at budgets large enough for the projection to be idle. For
owners that are alike and weighed by records the last two come to ½ tr(H⁻¹G)/f* · (1/n_S − 1/n).

A learner that blends answers with what public rows tell falls back to the public model as these costs N
grow: with P what that model costs beyond `optimisation`, they come to PN/(P + N), as two independent
estimates of one precision each do. κ is then such that this holds in the rehearsal.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from treaty.arrays import FloatArray
from treaty.evidence.costs import median_over_mean
from treaty.forecasting import Outlook
from treaty.plans import Party
from treaty.privacy import Budget


@dataclass(frozen=True, eq=False)
class Worth:
    """What decides how good a coalition is.

    Args:
        names: the owners.
        records: n_i.
        noise: κ n_i² v_i, so that noise costs Σ w_i² noise_i/n_i².
        sampling: ½ tr(H⁻¹G)/f*.
        optimisation: what the method leaves without noise.
        nothing: ψ without any coalition: of the public rows, or of a constant.
        luck: how much lower a model of one sample typically is than on average: such costs are skewed.
        pulls: pull_i·√(½/f*), a row for each owner; no columns where owners are alike.
        difference_costs: what each owner's own model costs because it differs.
        own: ψ of the very model of owners whose records are at hand, by name. Their pulls are those
            of these records, chance included.
        precision_weights: whether owners are weighed by precision instead of by records.
        fallback: P, for a learner that falls back to the public model; infinite for others.
    """

    names: tuple[str, ...]
    records: FloatArray
    noise: FloatArray
    sampling: float
    optimisation: float
    nothing: float
    luck: float
    pulls: FloatArray
    difference_costs: FloatArray
    own: Mapping[str, float] = field(default_factory=dict[str, float])
    precision_weights: bool = False
    fallback: float = math.inf

    def at_cost(self, cost: FloatArray) -> FloatArray:
        """Return ψ where noise, fewer records and differences cost so much: N."""
        return self.optimisation + cost / (1.0 + cost / self.fallback)

    def cost_at(self, psi: float) -> float:
        """Return N that comes to this ψ; infinite where none is too much."""
        above = psi - self.optimisation
        return above / (1.0 - above / self.fallback) if above < self.fallback else math.inf

    @property
    def total(self) -> float:
        """n, everybody's records."""
        return float(self.records.sum())

    @cached_property
    def addends(self) -> FloatArray:
        """What owners bring to the sums that ψ of a coalition is made of, a row for each."""
        weight = self.records
        if self.precision_weights and self.noise.max() > 0:
            weight = self.records**2 / np.maximum(self.noise, 1e-12 * self.noise.max())
        weight = weight / weight.max()
        per_record = np.where(self._at_hand, 0.0, self.sampling / self.records)
        return np.column_stack(
            [
                weight,
                weight**2 * self.noise / self.records**2,
                weight**2 * per_record,
                weight * self.records / self.total * per_record,
                weight[:, None] * self.pulls,
            ]
        )

    def from_sums(self, sums: FloatArray) -> FloatArray:
        """Return ψ of coalitions from the sums of their members' addends, shape (…, 4 + pulls)."""
        size = sums[..., 0]
        shares = self.records / self.total
        per_record = np.where(self._at_hand, 0.0, self.sampling / self.records)
        with np.errstate(divide="ignore", invalid="ignore"):
            spent = sums[..., 1] / size**2
            chance = (
                sums[..., 2] / size**2 - 2 * sums[..., 3] / size + float(shares**2 @ per_record)
            )
            apart = sums[..., 4:] / size[..., None] - shares @ self.pulls
            psi = self.at_cost(spent + np.maximum(chance, 0.0) + np.sum(apart**2, axis=-1))
        return np.where(size > 0, psi, self.nothing)

    def psi(self, members: FloatArray) -> FloatArray:
        """Return ψ of coalitions given as rows of zeros and ones; of none, what there is without."""
        return self.from_sums(members @ self.addends)

    def alone(self) -> FloatArray:
        """Return ψ of every owner's own model, without noise."""
        return self._alone(1.0)

    def typical_alone(self) -> FloatArray:
        """Return the median of what `alone` gives the mean of: better than that is even odds."""
        return self._alone(self.luck)

    def _alone(self, luck: float) -> FloatArray:
        psi = luck * self.sampling * (1 / self.records - 1 / self.total) + self.difference_costs
        return np.array([self.own.get(n, value) for n, value in zip(self.names, psi, strict=True)])

    @property
    def _at_hand(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        return np.array([name in self.own for name in self.names])

    def with_precision_weights(self) -> "Worth":
        """Return the worth if owners were weighed by n_i²ε_i²."""
        return replace(self, precision_weights=True)


def worth_of(outlook: Outlook, *, precision: float = 0.05, seed: int = 0) -> Worth:
    """Measure κ, the optimisation and the sampling cost of an outlook's plan.

    Args:
        outlook: the outlook.
        precision: the relative Monte-Carlo error to reach.
        seed: of the rehearsals.
    """
    plan = outlook.plan
    public = outlook.public_model(plan.total)
    generous, factor = plan, 1.0
    result = outlook.rehearse(generous, precision=precision, seed=seed)

    def fallback() -> float:
        if public is None or not plan.learner_class.needs_public_rows:
            return math.inf
        return max(public.value - result.optimisation, TINY)

    while result.noise > min(IDLE, MOSTLY * fallback()) and factor < 1e6:
        factor *= 10
        generous = plan.with_budgets(partial(_times, factor))
        result = outlook.rehearse(generous, precision=precision, seed=seed)
    variance = plan.variances
    generous_variance = generous.variances
    heard = float(generous.shares**2 @ generous_variance)
    noise = max(0.0, result.noise)
    noise /= 1.0 - min(noise / fallback(), 1.0 - TINY)
    kappa = noise / heard if heard > 0 else 0.0
    records = np.array([float(party.records) for party in plan.parties])
    sampling = float(np.mean([stage.costs.sampling for stage in outlook.stages])) / outlook.fitness
    constant = max(
        0.0, float(np.mean([stage.constant for stage in outlook.stages])) / outlook.fitness - 1
    )
    return Worth(
        names=tuple(party.name for party in plan.parties),
        records=records,
        noise=kappa * records**2 * variance,
        sampling=sampling,
        optimisation=result.optimisation,
        nothing=constant if public is None else min(constant, public.value),
        luck=float(np.mean([median_over_mean(stage.costs.spectrum) for stage in outlook.stages])),
        pulls=_pulls(outlook),
        difference_costs=np.mean([stage.difference_costs for stage in outlook.stages], axis=0)
        / outlook.fitness,
        own={name: outlook.own_model(plan, name).value for name in outlook.stages[0].own},
        precision_weights=plan.weights == "precision",
        fallback=fallback(),
    )


def _pulls(outlook: Outlook) -> FloatArray:
    """Return pulls with the scalar products that the folds' have on average; none for alike owners."""
    scale = np.sqrt(0.5 / outlook.fitness / len(outlook.stages))
    side_by_side = scale * np.hstack([stage.pulls for stage in outlook.stages])
    left, values, _ = np.linalg.svd(side_by_side, full_matrices=False)
    return (left * values)[:, values > 1e-9 * max(float(values.max(initial=0.0)), 1e-30)]


IDLE = 0.5
"""While it adds less than this to ψ, noise acts in proportion: the projection is idle."""
MOSTLY = 0.8
"""While noise adds less than this share of what the public model costs, it can be told how much."""
TINY = 1e-9


def _times(factor: float, party: Party) -> Budget:
    return Budget(party.budget.epsilon * factor, party.budget.delta)
