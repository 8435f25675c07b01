"""The clip: the less of a gradient counts, the less noise, and the less is learnt from long ones."""

import numpy as np

from treaty.settings.expecting import Judge
from treaty.terms import Treaty

QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999)
"""Shares of public gradients that a clip leaves as they are."""
OF_THE_RARER = 0.9
"""Of the rarer label it leaves at least this share."""


def with_best_clip(treaty: Treaty, judge: Judge) -> tuple[Treaty, float]:
    """Return a treaty with the clip that lets most be learnt, and which share of gradients it leaves.

    Where a label is rare, its records have by far the longest gradients, and a clip that is made for
    the others would cut nearly all of them: they would count, but say nothing about how much.
    """
    if treaty.loss.clip is None:
        return treaty, 1.0
    sizes, rarer = judge.gradient_sizes(treaty)
    best: tuple[float, Treaty, float] | None = None
    for share in (q for q in QUANTILES if rarer is None or q >= OF_THE_RARER):
        clip = float(f"{float(np.quantile(sizes if rarer is None else rarer, share)):.3g}")
        if clip <= 0:
            continue
        changed = treaty.model_copy(update={"loss": treaty.loss.model_copy(update={"clip": clip})})
        gain = judge.gain(changed)
        if best is None or gain > best[0]:
            best = (gain, changed, float(np.mean(sizes <= clip)))
    return (treaty, 1.0) if best is None else best[1:]
