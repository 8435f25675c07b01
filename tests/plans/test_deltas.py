"""A δ that is large for the number of records is told."""

import pytest

from treaty.plans import Party
from treaty.plans.deltas import delta_doubt
from treaty.privacy import Budget


@pytest.mark.parametrize(
    ("delta", "says"),
    [(0.0, ""), (1e-6, ""), (2e-4, "above 1/(10 n)"), (1e-3, "1/n or more"), (0.1, "1/n or more")],
)
def test_deltas_beside_a_thousand_records(delta, says):
    told = delta_doubt(Party("north", 1_000, Budget(1.0, delta)))
    assert says in told
    assert bool(told) == bool(says)
