"""How much work a way is, counted: what a plan tries must not depend on a clock or a busy machine."""

FITS = {False: 4.0, True: 60.0}
"""How often the rows are gone through for a part, by whether labels are predicted: a square is solved
at once, a loss of labels in steps and for every strength of a ridge."""
UNIT = 1e9
"""Multiplications in a unit of work, which takes about a second on one idle core."""
LEAST = 0.05
"""Whatever is tried costs so much: reading, encoding, a forecast of the gain."""
AGAIN = 0.15
"""A way with the columns of an earlier one costs that share of its work: its public model is known."""


def work_of(rows: int, width: int, parts: int, *, labels: bool, rehearsed: int = 0) -> float:
    """Return the units of work in judging a way.

    A cross-validated fit goes through n rows of p columns for every part, and factors a p × p matrix:
    the work grows like (n + p)p². A rehearsal goes through them once a round.

    Args:
        rows: n, of public rows.
        width: p, of encoded columns.
        parts: into so many parts rows are cut.
        labels: whether labels are predicted.
        rehearsed: in so many rounds, over all runs, a method without a closed form is rehearsed.
    """
    fitted = parts * (rows + width) * float(width) ** 2 * FITS[labels]
    return LEAST + (fitted + 2.0 * rehearsed * rows * width) / UNIT
