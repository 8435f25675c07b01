"""OpenDP, whose exact samplers give all live noise. Its Python interface has no types."""

import functools
import math
from importlib import import_module
from typing import Any


@functools.cache
def samplers() -> Any:
    """Return OpenDP with the features that live noise needs, imported when it is first needed."""
    module: Any = import_module("opendp.prelude")
    module.enable_features("contrib")
    return module


def granularity(scale: float, size: int) -> int:
    """Return k for noise on multiples of 2^k: some 94 + log₂(size) binary places below the scale.

    OpenDP counts the rounding of the answer to such multiples as part of the sensitivity; so far below
    the scale it is covered by the rounding up of scales, for as many answers and coordinates as there
    may be. The default, the smallest double, is no more
    private and takes twice as long.
    """
    return max(-1074, math.frexp(scale)[1] - 94 - size.bit_length())
