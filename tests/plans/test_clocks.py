import math

import numpy as np
import pytest
from scipy import stats

from treaty.plans import PoissonClocks, Timetable
from treaty.plans.clocks import NOBODY

ENDLESS = 10**9


def _clocks(tables, runs=1, seed=0) -> PoissonClocks:
    return PoissonClocks(tables, np.random.default_rng(seed), runs)


def test_equal_clocks_choose_uniformly_and_tick_as_a_poisson_process():
    clocks = _clocks([Timetable(1.0, (), ENDLESS)] * 4, runs=50)
    chosen, times = [], []
    for _ in range(400):
        chosen.append(clocks.next())
        times.append(clocks.time.copy())
    counts = np.bincount(np.concatenate(chosen), minlength=4)
    assert stats.chisquare(counts).pvalue > 1e-4
    waits = np.diff(np.array(times), axis=0).ravel()
    assert stats.kstest(waits, stats.expon(scale=0.25).cdf).pvalue > 1e-4


def test_rates_give_frequencies():
    rates = np.array([1.0, 2.0, 5.0])
    clocks = _clocks([Timetable(r, (), ENDLESS) for r in rates], runs=200)
    chosen = np.concatenate([clocks.next() for _ in range(100)])
    counts = np.bincount(chosen, minlength=3)
    assert stats.chisquare(counts, counts.sum() * rates / rates.sum()).pvalue > 1e-4


def test_caps_are_kept_exactly_and_then_nobody_is_left():
    clocks = _clocks([Timetable(1.0, (), cap) for cap in (3, 5, 7)], runs=40)
    chosen = np.stack([clocks.next() for _ in range(15)])
    for run in chosen.T:
        np.testing.assert_array_equal(np.bincount(run, minlength=3), [3, 5, 7])
    assert np.all(clocks.next() == NOBODY)
    assert np.all(clocks.next() == NOBODY)


def test_an_owner_leaves_and_returns():
    clocks = _clocks([Timetable(1.0, ((10.0, 30.0),), ENDLESS), Timetable(1.0, (), ENDLESS)])
    seen = []
    while clocks.time[0] < 60:
        bloc = int(clocks.next()[0])
        seen.append((float(clocks.time[0]), bloc))
    away = [bloc for time, bloc in seen if 10 <= time < 30]
    assert len(away) > 5
    assert set(away) == {1}
    assert {bloc for time, bloc in seen if time < 10} == {0, 1}
    assert {bloc for time, bloc in seen if time >= 30} == {0, 1}


def test_everybody_away_is_waited_for():
    clocks = _clocks([Timetable(1.0, ((0.0, 5.0),), 2)], runs=20)
    assert np.all(clocks.next() == 0)
    assert np.all(clocks.time >= 5.0)


def test_gone_for_good():
    clocks = _clocks([Timetable(1.0, ((2.0, math.inf),), ENDLESS)], runs=30)
    first = [clocks.next() for _ in range(40)]
    assert np.all(first[-1] == NOBODY)


def test_ticks_with_absences_are_still_poisson():
    """While one of two equal clocks is away the other goes on at its own pace."""
    clocks = _clocks([Timetable(1.0, ((0.0, 1e9),), ENDLESS), Timetable(2.0, (), ENDLESS)], runs=60)
    times = [clocks.time.copy()]
    for _ in range(60):
        assert np.all(clocks.next() == 1)
        times.append(clocks.time.copy())
    waits = np.diff(np.array(times), axis=0).ravel()
    assert stats.kstest(waits, stats.expon(scale=0.5).cdf).pvalue > 1e-4


@pytest.mark.parametrize("limited", [True, False])
def test_a_seed_gives_the_same_meetings(limited):
    tables = [Timetable(1.0, ((3.0, 4.0),) if limited else (), 30)] * 3
    first, second = _clocks(tables, 5, seed=8), _clocks(tables, 5, seed=8)
    for _ in range(20):
        np.testing.assert_array_equal(first.next(), second.next())
