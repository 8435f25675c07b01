"""The worth of a coalition, from one rehearsal: fast enough to compare a million of them.

For owners that are alike, a coalition S of n_S records, trained together and judged on everybody's n
records, has

    ψ(S) ≈ optimisation + κ·Σ_{i∈S} w_i² v_i + (½ tr(H⁻¹G)/f*)·(1/n_S − 1/n)

with w_i its weights and v_i the variance of owner i's noise. κ, what noise does to ψ, comes from a
rehearsal at budgets large enough for the projection to be idle; the last term is what fewer records
cost.
"""

from dataclasses import dataclass, replace

import numpy as np

from treaty.arrays import FloatArray
from treaty.forecast import Outlook
from treaty.learners import Plan
from treaty.privacy import Budget


@dataclass(frozen=True, eq=False)
class Worth:
    """What decides how good a coalition is.

    Args:
        names: the owners.
        records: n_i.
        noise: κ n_i² v_i, so that a coalition's noise costs Σ noise / n_S².
        sampling: ½ tr(H⁻¹G)/f*.
        optimisation: what the method leaves without noise.
        nothing: ψ without any coalition: of the public rows, or of a constant.
        luck: how much lower a model of one sample typically is than on average: such costs are skewed.
        apart: what each owner's own model costs beyond its small number of records, because it differs.
        precision_weights: whether owners are weighed by precision instead of by records.
    """

    names: tuple[str, ...]
    records: FloatArray
    noise: FloatArray
    sampling: float
    optimisation: float
    nothing: float
    luck: float
    apart: FloatArray
    precision_weights: bool = False

    @property
    def total(self) -> float:
        """n, everybody's records."""
        return float(self.records.sum())

    def psi(self, members: FloatArray) -> FloatArray:
        """Return ψ of coalitions given as rows of zeros and ones; of none, what there is without."""
        size = members @ self.records
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.precision_weights:
                spent = 1.0 / (members @ (self.records**2 / self.noise))
            else:
                spent = (members @ self.noise) / size**2
            psi = self.optimisation + spent + self.sampling * (1 / size - 1 / self.total)
        return np.where(size > 0, psi, self.nothing)

    def alone(self) -> FloatArray:
        """Return ψ of every owner's own model, without noise."""
        return self.sampling * (1 / self.records - 1 / self.total) + self.apart

    def typical_alone(self) -> FloatArray:
        """Return the median of what `alone` gives the mean of: better than that is even odds."""
        return self.luck * self.sampling * (1 / self.records - 1 / self.total) + self.apart

    def with_precision_weights(self) -> "Worth":
        """Return the worth if owners were weighed by n_i²ε_i²."""
        return replace(self, precision_weights=True)


def worth_of(seen: Outlook, *, precision: float = 0.05, seed: int = 0) -> Worth:
    """Measure κ, the optimisation and the sampling cost of an outlook's plan.

    Args:
        seen: the outlook.
        precision: the relative Monte-Carlo error to reach.
        seed: of the rehearsals.
    """
    plan = seen.plan
    generous, factor = plan, 1.0
    result = seen.rehearse(generous, precision=precision, seed=seed)
    while result.psi.value > IDLE and factor < 1e6:
        factor *= 10
        generous = _at(plan, factor)
        result = seen.rehearse(generous, precision=precision, seed=seed)
    variance = np.array([plan.mechanism.variance(s) for s in plan.scales])
    generous_variance = np.array([plan.mechanism.variance(s) for s in generous.scales])
    heard = float(generous.shares**2 @ generous_variance)
    kappa = result.noise / heard if heard > 0 else 0.0
    records = np.array([float(party.records) for party in plan.parties])
    sampling = float(np.mean([stage.sampling for stage in seen.ready])) / seen.fitness
    constant = float(np.mean([stage.constant for stage in seen.ready])) / seen.fitness - 1
    without = constant
    if seen.public_rows is not None:
        without = min(constant, sampling * (1 / seen.public_rows + 1 / float(records.sum())))
    return Worth(
        names=tuple(party.name for party in plan.parties),
        records=records,
        noise=kappa * records**2 * variance,
        sampling=sampling,
        optimisation=result.optimisation,
        nothing=without,
        luck=float(np.mean([_median_over_mean(stage.spectrum) for stage in seen.ready])),
        apart=_apart(seen) / seen.fitness,
        precision_weights=plan.weights == "precision",
    )


def _apart(seen: Outlook) -> FloatArray:
    """What each owner differs by, the median over halves; low ones drawn towards the typical owner.

    The estimates are noisy and the truth is never below 0, so that one far below what is usual among
    these owners is more likely luck than likeness. Owners the stand-in does not know are typical.
    """
    names = [party.name for party in seen.plan.parties]
    found = {
        name: max(
            0.0,
            float(np.median([stage.apart[name] for stage in seen.ready if name in stage.apart])),
        )
        for name in names
        if any(name in stage.apart for stage in seen.ready)
    }
    if not found:
        return np.zeros(len(names))
    usual = float(np.median(list(found.values())))
    own = np.array([found.get(name, usual) for name in names])
    return np.maximum(own, 0.5 * (own + usual))


def _median_over_mean(spectrum: FloatArray) -> float:
    """The median of Σ λ_j z_j² over its mean, by Wilson and Hilferty with the effective number of z."""
    number = float(spectrum.sum() ** 2 / max(float(spectrum @ spectrum), 1e-300))
    return (1 - 2 / (9 * max(number, 1.0))) ** 3


IDLE = 0.5
"""Below this ψ noise acts in proportion: the projection is idle."""


def _at(plan: Plan, factor: float) -> Plan:
    return plan.with_parties(
        tuple(
            replace(party, budget=Budget(party.budget.epsilon * factor, party.budget.delta))
            for party in plan.parties
        )
    )
