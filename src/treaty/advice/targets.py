"""What it takes to reach a target: budgets, records or owners."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

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
        owners: how many owners like the average one.
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
    """Solve for what reaches a target ψ with everybody at the table.

    Raises:
        TreatyError: no ε reaches it; the message says what would be reached.
    """
    everybody = np.ones(len(worth.names))
    now = float(worth.psi(everybody[None])[0])
    best = worth.optimisation
    if target <= best:
        raise TreatyError(
            f"a target ψ of {target:g} is out of reach at any epsilon: without any noise this plan "
            f"ends at {best:.3g}; more rounds or other steps would be needed"
        )
    noise = now - best
    factor = math.sqrt(noise / (target - best)) if noise > 0 else 0.0
    one = None
    if owner is not None:
        if owner not in worth.names:
            raise TreatyError(f"{owner} is not a party to this treaty")
        one = _one_epsilon(worth, epsilons, target, worth.names.index(owner))
    count, mean_records = len(worth.names), worth.total / len(worth.names)
    mean_noise = float(worth.noise.mean())
    # m owners like the average one have noise mean_noise/(m·mean_records²), judged on their own union.
    owners = math.ceil(mean_noise / mean_records**2 / (target - best) - 1e-9)
    return Reach(target, factor, owner, one, factor, max(1, owners) if count else None, best)


def _one_epsilon(worth: Worth, epsilons: FloatArray, target: float, index: int) -> float | None:
    """Return the ε of one owner that reaches the target, others as they are; None if none does."""
    if worth.precision_weights:
        precision = worth.records**2 / worth.noise
        needed = 1 / (target - worth.optimisation) - (precision.sum() - precision[index])
        if needed <= 0:
            return 0.0
        return float(epsilons[index] * math.sqrt(needed / precision[index]))
    room = (target - worth.optimisation) * worth.total**2
    room -= float(worth.noise.sum() - worth.noise[index])
    if room <= 0:
        return None
    return float(epsilons[index] * math.sqrt(worth.noise[index] / room))


def priced_budgets(
    worth: Worth, epsilons: FloatArray, prices: Mapping[str, float], spend: float
) -> dict[str, float]:
    """Return the budgets that cost Σ price_i ε_i = spend and add the least noise.

    Noise is Σ a_i/ε_i² with a_i = noise_i ε_i²; the least is at ε_i ∝ (a_i/price_i)^(1/3).

    Args:
        worth: the owners.
        epsilons: the budgets at which their noise was taken.
        prices: the price of one unit of ε, by owner.
        spend: what there is to spend.
    """
    unknown = sorted(set(prices) - set(worth.names))
    if unknown:
        raise TreatyError(f"--prices names {unknown[0]}, who is not a party to this treaty")
    missing = [name for name in worth.names if name not in prices]
    if missing:
        raise TreatyError(f"--prices has no price for {missing[0]}")
    if not spend > 0 or any(not price > 0 for price in prices.values()):
        raise TreatyError("prices and what is spent must be above 0")
    price = np.array([prices[name] for name in worth.names])
    need = np.cbrt(worth.noise * epsilons**2 / price)
    granted = spend * need / float(price @ need)
    return dict(zip(worth.names, granted.tolist(), strict=True))
