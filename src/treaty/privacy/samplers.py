"""OpenDP, whose exact samplers give all live noise. Its Python interface has no types."""

import functools
from typing import Any

import opendp.prelude


@functools.cache
def samplers() -> Any:
    """Return OpenDP with the features that live noise needs."""
    module: Any = opendp.prelude
    module.enable_features("contrib")
    return module
