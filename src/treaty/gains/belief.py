"""What to believe of a gain that draws tell: the less sure they are of it, the less of it."""

import numpy as np

from treaty.arrays import FloatArray

USUAL = 0.04
"""How large gains usually are, up or down: the standard deviation of what is believed at first."""


def believed(gains: FloatArray) -> FloatArray:
    """Return draws of a gain, moved towards none as far as they scatter.

    Among many owners who are told a gain those stand out whose draws happen to lie high. If gains are
    normal about 0 with variance s², and draws tell this one with variance v, it has mean
    m s²/(s² + v) and variance v s²/(s² + v).
    """
    mean, scatter = float(gains.mean()), float(gains.var(ddof=1))
    kept = USUAL**2 / (USUAL**2 + scatter)
    return kept * mean + np.sqrt(kept) * (gains - mean)
