"""Stated limits of the numbers in a treaty.

A sensitivity is a statement about what a program computes with doubles. It holds as long as nothing on
the way underflows or overflows, and inside these limits nothing can: the largest number that is ever
formed is about 1e62 (a square of θᵀx, times a number of records), the smallest that matters about
1e-36, and doubles reach from 1e-308 to 1e308. Whatever lies outside is refused when a treaty is read.
"""

import math

from treaty.errors import TreatyError

SMALLEST, LARGEST = 1e-12, 1e12
"""Norms of x, targets, Θ, clip, ridge, and every number of a dictionary."""
SMALLEST_GRADIENT, LARGEST_GRADIENT = 1e-25, 1e40
"""Ξ, the largest gradient of a record."""
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-6, 1e6
SMALLEST_DELTA = 1e-30
MOST_RECORDS = 10**12
LONGEST_HORIZON = 10**9
LONGEST_ANSWER = 130_000
"""Numbers in one answer: so many doubles fit into one message of a federation."""


class OutsideLimits(TreatyError, ValueError):
    """A number lies outside the stated limits."""


def check_size(what: str, size: float, *, zero: bool = False, infinite: bool = False) -> None:
    """Refuse a size that lies outside the limits.

    Args:
        what: its name, for the message.
        size: a number that must not be negative.
        zero: whether 0 is allowed as well.
        infinite: whether it may be infinite.
    """
    if (zero and size == 0) or (infinite and size == math.inf):
        return
    if not SMALLEST <= size <= LARGEST:
        also = ["0"] * zero + ["inf"] * infinite
        or_else = f" (or {' or '.join(also)})" if also else ""
        raise OutsideLimits(
            f"{what} must lie between {SMALLEST:g} and {LARGEST:g}{or_else}, not {size:g}"
        )


def check_answer(length: int) -> None:
    """Refuse answers that would not fit into one message: they would be paid for and never arrive."""
    if length > LONGEST_ANSWER:
        raise OutsideLimits(
            f"an answer would have {length:,} numbers, and a message holds {LONGEST_ANSWER:,}: take "
            "fewer columns or components, or for moments a method that asks for gradients"
        )


def check_magnitude(what: str, number: float) -> None:
    """Refuse a number, of either sign, that is too large or not finite."""
    if not abs(number) <= LARGEST:
        raise OutsideLimits(f"{what} may not exceed {LARGEST:g} in size, and it is {number:g}")
