"""How much of a gain is believed, and how large errors of few rows are taken to be."""

import numpy as np
import pytest

from treaty.gains.belief import USUAL, believed
from treaty.gains.levels import levels_of


def test_gains_that_scatter_as_much_as_they_usually_are_are_believed_by_half():
    draws = 0.02 + USUAL * np.array([-1.0, 1.0]) / np.sqrt(2)
    told = believed(draws)
    assert told.mean() == pytest.approx(0.01)
    assert told.var(ddof=1) == pytest.approx(0.5 * draws.var(ddof=1))
    sure = np.full(5, 0.03)
    np.testing.assert_array_equal(believed(sure), sure)


def test_gains_are_told_as_large_as_they_are_on_average():
    """True gains about 0, told with errors: what is got rises by one for one of what is told."""
    random = np.random.default_rng(0)
    true = USUAL * random.standard_normal(4_000)
    spread = random.uniform(0.01, 0.08, 4_000)
    told = np.array(
        [
            believed(t + s * random.standard_normal() + s * random.standard_normal(24)).mean()
            for t, s in zip(true, spread, strict=True)
        ]
    )
    slope = float(told @ true / (told @ told))
    assert slope == pytest.approx(1.0, abs=0.1)


def test_levels_of_owners_that_are_alike_are_everybodys():
    random = np.random.default_rng(1)
    losses = {f"o{k}": random.exponential(1.0, 25) for k in range(40)}
    levels = levels_of(losses, np.concatenate(list(losses.values())))
    raw = np.array([each.mean() for each in losses.values()])
    shrunk = np.array([levels[name].value for name in losses])
    assert np.abs(shrunk - 1).mean() < 0.6 * np.abs(raw - 1).mean()


def test_levels_of_owners_that_differ_are_their_own():
    random = np.random.default_rng(2)
    true = {f"o{k}": 0.5 + k / 10 for k in range(20)}
    losses = {name: size * random.exponential(1.0, 400) for name, size in true.items()}
    levels = levels_of(losses, np.concatenate(list(losses.values())))
    inside = [
        abs(levels[name].value - size) < 2 * levels[name].value * np.sqrt(levels[name].unsure)
        for name, size in true.items()
    ]
    assert np.mean(inside) > 0.85
