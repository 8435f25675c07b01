"""Owners of few records differ by chance; who is met one at a time pulls the model its own way."""

import math
from dataclasses import replace

import numpy as np
import pytest

from problems import plan, rows
from treaty.fitness import RowRisk, Yardstick, optimum, pooled, risk_of
from treaty.losses import Logistic, Squared
from treaty.plans import Party
from treaty.privacy import Budget
from treaty.simulation import differing_by_chance, simulate

P = 4


def _asynchronous(loss, sizes, horizon=120, answers=None):
    made = plan(loss, "one-at-a-time", owners=len(sizes), horizon=horizon, p=P)
    parties = tuple(
        Party(f"owner {i}", n, Budget(1e5), answers=answers) for i, n in enumerate(sizes)
    )
    return replace(made, parties=parties)


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=lambda loss: loss.name)
def test_means_of_few_records_differ_as_much_as_is_drawn(loss):
    """Against records drawn again and again: covariance G/n_i less what they share with everybody."""
    sizes, runs = (50, 100, 350), 6000
    x, y = rows(4000, P, seed=1, labels=loss.labels)
    everybody = RowRisk(loss, x, y)
    theta = optimum(plan(loss, "one-at-a-time", p=P).problem, everybody).theta
    told = differing_by_chance(_asynchronous(loss, sizes), everybody, theta, runs, seed=3)
    assert told.shape == (3, runs, P)
    random, each = np.random.default_rng(5), np.zeros((3, runs, P))
    gradients = loss.slope((x @ theta)[:, None], y[:, None]) * x
    for run in range(runs):
        own = [gradients[random.integers(len(y), size=n)].mean(axis=0) for n in sizes]
        each[:, run] = np.array(own) - np.average(own, axis=0, weights=sizes)
    for i in range(3):
        real, drawn = np.cov(each[i].T), np.cov(told[i].T)
        assert np.linalg.norm(real - drawn) < 0.1 * np.linalg.norm(real)
    np.testing.assert_allclose(np.average(told, axis=0, weights=sizes), 0.0, atol=1e-12)


def test_by_hand():
    """Two owners of one record each, gradients ±2 of one number: both are off by ±√2·2, oppositely."""
    loss = Squared()
    everybody = RowRisk(loss, np.ones((2, 1)), np.array([-1.0, 1.0]))
    chosen = _asynchronous(loss, (1, 1))
    told = differing_by_chance(chosen, everybody, np.zeros(1), 200_000, seed=0)
    # The gradient is 2(0 − y): ±2, with variance 4. Owner 1 less the mean of both: half the difference
    # of two such means, with variance (4 + 4)/4 = 2.
    assert told[0].var() == pytest.approx(2.0, rel=0.02)
    np.testing.assert_allclose(told[0], -told[1])


def test_records_at_hand_differ_as_they_do_and_everybody_at_once_does_not_matter():
    loss = Squared()
    everybody = RowRisk(loss, *rows(500, P, seed=1))
    theta = np.zeros(P)
    chosen = _asynchronous(loss, (50, 100, 350))
    told = differing_by_chance(chosen, everybody, theta, 10, seed=3, exact=("owner 1",))
    assert not told[1].any()
    np.testing.assert_allclose(50 * told[0] + 350 * told[2], 0.0, atol=1e-9)
    assert differing_by_chance(plan(loss, "shrinking-steps"), everybody, theta, 10, 3) is None
    assert differing_by_chance(_asynchronous(loss, (50,)), everybody, theta, 10, 3) is None
    known = {f"owner {i}" for i in range(3)}
    assert not differing_by_chance(chosen, everybody, theta, 10, 3, exact=known).any()


@pytest.mark.parametrize(("horizon", "answers"), [(900, None), (3000, 1000)])
def test_a_rehearsal_comes_to_what_trainings_on_few_records_come_to(horizon, answers):
    """With caps one owner is left for the end, and without chance a rehearsal says far too little."""
    loss, n = Squared(), 60
    chosen = _asynchronous(loss, (n,) * 3, horizon, answers)
    measured = []
    for seed in range(24):
        own = {f"owner {i}": risk_of(loss, *rows(n, P, seed=1000 * seed + i)) for i in range(3)}
        measured.append(simulate(chosen, own, runs=8, seed=seed).mean)
    public = risk_of(loss, *rows(20_000, P, seed=7))
    best = optimum(chosen.problem, public)
    stick = Yardstick(chosen.problem, pooled([public], [1.0]), best)
    alike = dict.fromkeys((party.name for party in chosen.parties), public)
    told, without = (
        simulate(chosen, alike, runs=120, seed=1, measured_with=stick, offsets=offsets).mean
        for offsets in (differing_by_chance(chosen, public, best.theta, 120, 2), None)
    )
    chance = np.std(measured, ddof=1) / math.sqrt(len(measured))
    assert told == pytest.approx(np.mean(measured), abs=3 * chance + 0.1 * told)
    assert answers is None or without < 0.6 * np.mean(measured)
