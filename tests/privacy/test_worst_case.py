"""The privacy of a whole answer, measured: neighbouring datasets, worst records, real mechanism."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from problems import LOSSES, domain, one_owner, problem, rows, sensitivity
from treaty.fitness import RowRisk, risk_of
from treaty.losses import Clipped
from treaty.owner import Owner, Query
from treaty.privacy import Budget, Grant, MemoryLedger
from treaty.questions import MeanGradient

P = 4
WAYS = {**LOSSES, **{f"clipped {k}": Clipped(v, 0.4, "l1") for k, v in LOSSES.items()}}


@pytest.mark.parametrize("name", WAYS)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), corner=st.booleans())
@settings(max_examples=60)
def test_replacing_one_record_moves_an_answer_by_at_most_the_sensitivity(name, seed, n, corner):
    loss = WAYS[name]
    chosen = problem(loss, P, 0.01, 2.0)
    random = np.random.default_rng(seed)
    x, y = rows(n, P, seed, labels=loss.labels)
    other_x, other_y = x.copy(), y.copy()
    worst = np.append(np.full(P - 1, 1 / math.sqrt(P - 1)), 1.0)
    x[0], y[0] = worst, 1.0
    other_x[0], other_y[0] = np.append(-worst[:-1], 1.0), -1.0
    theta = 2.0 * (random.choice([-1.0, 1.0], P) if corner else random.uniform(-1, 1, P))
    for norm, order in (("l1", 1), ("l2", 2)):
        allowed = MeanGradient.sensitivity(chosen, n, norm)
        for kind in (np.asarray, sparse.csr_array):
            before, after = risk_of(loss, kind(x), y), risk_of(loss, kind(other_x), other_y)
            moved = before.gradient(theta) - after.gradient(theta)
            assert np.linalg.norm(moved, order) <= allowed


def test_rounding_stays_inside_the_sensitivity():
    """The computed mean differs from the exact one by less than what the sensitivity sets aside."""
    n = 40_000
    x, y = rows(n, P, seed=9)
    theta = np.array([2.0, -2.0, 2.0, 2.0])
    squared, few = LOSSES["squared"], sparse.csr_array(x)
    for risk in (risk_of(squared, x, y), RowRisk(squared, x, y), RowRisk(squared, few, y)):
        wide = x.astype(np.longdouble)
        exact = 2 * ((wide @ theta - y) @ wide) / n
        error = float(np.abs(risk.gradient(theta) - exact).sum())
        bound = problem(LOSSES["squared"], P, 0.0, 2.0).gradient_bound("l1")
        assert error <= (sensitivity(bound, n, P) - 2 * bound / n) / 2


def test_an_attack_on_one_answer_succeeds_no_more_often_than_epsilon_allows():
    """Two neighbouring datasets, the worst record, many real answers: the best threshold test.

    For an ε-private answer P(guess right) ≤ e^ε/(1 + e^ε). The Laplace mechanism attains it, so an
    owner that added less noise than it states would fail here.
    """
    epsilon, n, trials = 1.0, 5, 2500
    loss = LOSSES["hinge"]
    chosen = problem(loss, 2, 0.0, 1.0)
    with_record = (np.tile([0.0, 1.0], (n, 1)), np.ones(n))
    without = (with_record[0].copy(), with_record[1].copy())
    with_record[0][0] = [1.0, 1.0]
    without[0][0] = [-1.0, 1.0]
    right = 0
    for trial in range(trials):
        secret = trial % 2 == 0
        x, y = with_record if secret else without
        owner = Owner(
            "victim",
            treaty="t",
            plan=one_owner(chosen, 5),
            risk=risk_of(loss, x, y),
            ledger=MemoryLedger(Grant("t", Budget(epsilon), 1)),
        )
        answer = owner.answer(Query("t", "r", 1, (0.0, 0.0)))
        right += (answer[0] < 0) == secret
    # The record moves the answer by 2/n in l1 while the sensitivity allows 2·2/n: ε/2 at most.
    most = math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2))
    expected = 1 - 0.5 * math.exp(-epsilon / 4)
    assert right / trials <= most + 3 * 0.5 / math.sqrt(trials)
    assert right / trials == pytest.approx(expected, abs=4 * 0.5 / math.sqrt(trials))


def test_domain_helper_matches_the_rows():
    x, _ = rows(1000, P, seed=1)
    assert np.abs(x).sum(axis=1).max() <= domain(P).l1 + 1e-12
    assert np.linalg.norm(x, axis=1).max() <= domain(P).l2 + 1e-12
