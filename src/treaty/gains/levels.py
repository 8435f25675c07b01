"""How large the public model's mean loss is on every owner's records, as few rows of each tell it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from treaty.arrays import FloatArray


@dataclass(frozen=True)
class Level:
    """A mean loss, and how well it is known.

    Args:
        value: the mean loss.
        unsure: the variance of the error in it, over its square.
        tails: the variance of one record's loss, over the square of the mean.
    """

    value: float
    unsure: float
    tails: float


def levels_of(losses: Mapping[str, FloatArray], everybody: FloatArray) -> dict[str, Level]:
    """Return the mean loss on every owner's records.

    The mean of an owner's few losses L_i has variance v_i = t m²/n_i, m being everybody's mean and t m²
    the variance of one loss. What the means of owners vary beyond that is how owners differ, b²: it is
    taken to be larger by its standard error, for of few owners it may come out as 0. The best linear
    estimate moves L_i towards m by v_i/(b² + v_i), and is off by b²v_i/(b² + v_i), and by chance in m.

    Args:
        losses: of every owner's rows, each under a model made without that row.
        everybody: of all rows.
    """
    mean = float(everybody.mean())
    tails = float(everybody.var()) / mean**2 if mean > 0 else 0.0
    means = {name: float(each.mean()) for name, each in losses.items()}
    chance = {name: tails * mean**2 / len(each) for name, each in losses.items()}
    apart = [(means[name] - mean) ** 2 - chance[name] for name in losses]
    differ = max(0.0, float(np.mean(apart))) if apart else 0.0
    spread = [(differ + chance[name]) ** 2 for name in losses]
    differ += float(np.sqrt(2.0 * np.mean(spread) / len(spread))) if spread else 0.0
    found: dict[str, Level] = {}
    for name in losses:
        kept = differ / (differ + chance[name]) if differ + chance[name] > 0 else 1.0
        value = mean + kept * (means[name] - mean)
        off = kept * chance[name] + (1 - kept) ** 2 * tails * mean**2 / len(everybody)
        found[name] = Level(value, off / value**2 if value > 0 else 0.0, tails)
    return found
