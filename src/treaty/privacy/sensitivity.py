"""How far one record can move an answer."""

import numpy as np

from treaty.errors import TreatyError
from treaty.fitness.summation import additions


def sensitivity(gradient_bound: float, records: int, dimension: int) -> float:
    """Return the replace-one sensitivity of the mean gradient, floating point included.

        Δ = (2Ξ/n)·(1 + n·γ),    γ = (a(n) + p + 8)·u

    Replacing one of n records moves the exact mean by at most 2Ξ/n. The computed mean differs from
    the exact one by at most γΞ for either dataset: a sum over n rows takes a(n) additions in a row
    (`treaty.fitness.summation`), a score p, with a rounding of u = 2⁻⁵³ each. Without the second
    factor the stated ε would be a statement about real numbers, not about the program
    (Casacuberta et al. 2022, "Widespread Underestimation of Sensitivity").

    Args:
        gradient_bound: Ξ, the sup of a record's gradient norm.
        records: n.
        dimension: p.

    Example:
        >>> round(sensitivity(1.0, 1000, 10), 9)
        0.002
    """
    if records < 1:
        raise TreatyError("an owner without records has no mean to give")
    rounding = (additions(records) + dimension + 8) * float(np.finfo(float).eps) / 2
    return 2.0 * gradient_bound / records * (1.0 + records * rounding)
