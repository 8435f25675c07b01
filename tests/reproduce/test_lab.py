"""Rows dealt out to owners for an experiment."""

import numpy as np
import pytest

from treaty.losses import Squared
from treaty.reproduce import lending
from treaty.reproduce.lab import Lab


@pytest.fixture(scope="module")
def lab():
    return Lab(lending.study(lending.generate(40_000, seed=2), "generated"))


def test_owners_have_the_first_rows_and_the_next(lab):
    x, y = lab.rows
    risks = lab.risks(Squared(), [1_000, 3_000])
    theta = np.full(x.shape[1], 0.1)
    for risk, part in zip(risks.values(), (slice(0, 1_000), slice(1_000, 4_000)), strict=True):
        expected = np.mean((x[part] @ theta - y[part]) ** 2)
        assert float(risk.value(theta)) == pytest.approx(expected)
    assert lab.said([1_000, 3_000]) == "generated rows, not real ones"


def test_more_records_than_rows_are_drawn_and_it_is_said(lab):
    risks = lab.risks(Squared(), [50_000, 50_000])
    assert [risk.n for risk in risks.values()] == [50_000, 50_000]
    assert "drawn with replacement" in lab.said([50_000, 50_000])
