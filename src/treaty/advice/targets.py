"""What it takes to reach a target: budgets, records or owners."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from treaty.advice.worth import Worth
from treaty.arrays import FloatArray
from treaty.errors import TreatyError


@dataclass(frozen=True)
class Reach:
    """What would reach a target ψ, everything else as in the treaty; None where nothing would.

    Args:
        target: ψ.
        epsilon_factor: all budgets times this.
        owner: the one owner whose budget was asked about.
        owner_epsilon: its ε.
        records_factor: everybody's records times this.
        owners: how many owners like the average one; None where being alone is to be beaten.
        best: the lowest ψ that any ε reaches.
    """

    target: float
    epsilon_factor: float | None
    owner: str | None
    owner_epsilon: float | None
    records_factor: float | None
    owners: int | None
    best: float


def reach(worth: Worth, epsilons: FloatArray, target: float, owner: str | None = None) -> Reach:
    """Solve for what reaches a target ψ with everybody at the table, and for what is in reach."""
    if not (math.isfinite(target) and target > 0):
        raise TreatyError(f"a target ψ must be a number above 0, not {target:g}")
    if owner is not None:
        _index(worth, owner)
    best, noise = worth.optimisation, _noise_now(worth)
    if target <= best:
        return Reach(target, None, owner, None, None, None, best)
    room = worth.cost_at(target)
    factor = math.sqrt(noise / room)
    one = None if owner is None else _one_epsilon(worth, epsilons, target, owner)
    mean_records, mean_noise = worth.total / len(worth.names), float(worth.noise.mean())
    # m owners like the average one have noise mean_noise/(m·mean_records²), judged on their own union.
    owners = math.ceil(mean_noise / mean_records**2 / room - 1e-9)
    return Reach(target, factor, owner, one, factor, max(1, owners), best)


def beats_alone(worth: Worth, epsilons: FloatArray, owner: str) -> Reach:
    """Solve for what makes everybody together as good as one owner's own model is on average.

    With more records for everybody that model gets better too: noise falls as 1/records², what it
    lacks as 1/records.
    """
    index = _index(worth, owner)
    alone, best, noise = float(worth.alone()[index]), worth.optimisation, _noise_now(worth)
    if alone <= best:
        return Reach(alone, None, owner, None, None, None, best)
    factor = math.sqrt(noise / worth.cost_at(alone))
    apart = float(worth.difference_costs[index])
    records = _records_to_beat(worth, noise, apart, max(0.0, alone - apart))
    one = _one_epsilon(worth, epsilons, alone, owner)
    return Reach(alone, factor, owner, one, records, None, best)


def _records_to_beat(worth: Worth, noise: float, apart: float, chance: float) -> float | None:
    """Return the factor on everybody's records from which together is as good as alone; None if never.

    best + N/(1 + N/P) = apart + chance/r with N = noise/r²: in u = 1/r a polynomial. Where together is
    as good with the records of the treaty, the smallest such factor that leads there without a gap;
    else the next larger one.
    """
    lacks = worth.optimisation - apart
    per = 0.0 if math.isinf(worth.fallback) else noise / worth.fallback

    def ahead(u: float) -> float:
        return (lacks - chance * u) * (1 + per * u * u) + noise * u * u

    coefficients = [-chance * per, lacks * per + noise, -chance, lacks]
    roots = np.roots(np.trim_zeros(coefficients, "f"))
    found = sorted(1 / u.real for u in roots if abs(u.imag) < 1e-9 * abs(u) and u.real > 0)
    if ahead(1.0) <= 0:
        return max((r for r in found if r <= 1), default=0.0)
    return min((r for r in found if r > 1), default=None)


def _noise_now(worth: Worth) -> float:
    """Return what noise costs with everybody at the table, before any blending with public rows."""
    plain = replace(worth, fallback=math.inf)
    everybody = np.ones((1, len(worth.names)))
    return float(plain.psi(everybody)[0] - replace(plain, noise=0 * worth.noise).psi(everybody)[0])


def _index(worth: Worth, owner: str) -> int:
    if owner not in worth.names:
        raise TreatyError(f"{owner} is not a party to this treaty")
    return worth.names.index(owner)


def _one_epsilon(worth: Worth, epsilons: FloatArray, target: float, owner: str) -> float | None:
    """Return the ε of one owner that reaches the target, others as they are; None if none does."""
    index = _index(worth, owner)
    if math.isinf(epsilons[index]):
        raise TreatyError(f"{owner} has no noise to change: its epsilon is infinite")
    if worth.precision_weights:
        precision = worth.records**2 / worth.noise
        needed = 1 / worth.cost_at(target) - (precision.sum() - precision[index])
        if needed <= 0:
            return 0.0
        return float(epsilons[index] * math.sqrt(needed / precision[index]))
    room = worth.cost_at(target) * worth.total**2
    room -= float(worth.noise.sum() - worth.noise[index])
    if room <= 0:
        return None
    return float(epsilons[index] * math.sqrt(worth.noise[index] / room))


def priced_budgets(
    worth: Worth, epsilons: FloatArray, prices: Mapping[str, float], spend: float
) -> dict[str, float]:
    """Return the budgets that cost Σ price_i ε_i = spend and add the least noise.

    Weighed by records, noise is Σ a_i/ε_i² with a_i = noise_i ε_i²; the least is at
    ε_i ∝ (a_i/price_i)^(1/3). Weighed by precision it is 1/Σ n_i²ε_i²/a_i, and least when the owner with
    the most n_i²/(a_i price_i²) gets everything.

    Args:
        worth: the owners.
        epsilons: the budgets at which their noise was taken.
        prices: the price of one unit of ε, by owner.
        spend: what there is to spend.
    """
    unknown = sorted(set(prices) - set(worth.names))
    if unknown:
        raise TreatyError(f"`prices` names {unknown[0]}, who is not a party to this treaty")
    missing = [name for name in worth.names if name not in prices]
    if missing:
        raise TreatyError(f"`prices` has no price for {missing[0]}")
    if not spend > 0 or any(not price > 0 for price in prices.values()):
        raise TreatyError("prices and what is spent must be above 0")
    endless = [n for n, epsilon in zip(worth.names, epsilons, strict=True) if math.isinf(epsilon)]
    if endless:
        raise TreatyError(f"`prices`: {endless[0]} asks for no noise, so its epsilon has no price")
    price = np.array([prices[name] for name in worth.names])
    # Where the rehearsal sees no cost of noise, that of a sum of records is the same for all at one ε.
    unit = worth.noise * epsilons**2 if worth.noise.max() > 0 else np.ones(len(price))
    if worth.precision_weights:
        gets = int(np.argmax(worth.records**2 / (np.maximum(unit, 1e-12 * unit.max()) * price**2)))
        granted = np.where(np.arange(len(price)) == gets, spend / price, 0.0)
        return dict(zip(worth.names, granted.tolist(), strict=True))
    need = np.cbrt(unit / price)
    granted = spend * need / float(price @ need)
    return dict(zip(worth.names, granted.tolist(), strict=True))
