"""The clip: the less of a gradient counts, the less noise, and the less is learnt from long ones."""

import numpy as np

from treaty.settings.expecting import Judge
from treaty.terms import Treaty

QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
"""Shares of public gradients that a clip leaves as they are."""


def with_best_clip(treaty: Treaty, judge: Judge) -> tuple[Treaty, float]:
    """Return a treaty with the clip that lets most be learnt, and which share of gradients it leaves."""
    if treaty.loss.clip is None:
        return treaty, 1.0
    sizes = judge.gradient_sizes(treaty)
    best: tuple[float, Treaty, float] | None = None
    for share in QUANTILES:
        clip = float(f"{float(np.quantile(sizes, share)):.3g}")
        if clip <= 0:
            continue
        changed = treaty.model_copy(update={"loss": treaty.loss.model_copy(update={"clip": clip})})
        loss = judge.expected(changed).loss
        if best is None or loss < best[0]:
            best = (loss, changed, share)
    return (treaty, 1.0) if best is None else best[1:]
