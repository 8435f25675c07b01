"""Exact answers: what owners have in common is asked once, and nothing changes by it."""

import numpy as np
import pytest

from problems import rows
from treaty import Budget, Domain, Party, Plan, Problem, risk_of
from treaty.fitness import PooledRisk, RowRisk
from treaty.losses import Clipped, Squared
from treaty.questions import MeanGradient
from treaty.simulation.answers import SimulatedRecords


class Counting(RowRisk):
    """Rows that count how often they are asked."""

    asked = 0

    def gradient(self, theta):
        Counting.asked += 1
        return super().gradient(theta)


@pytest.mark.parametrize("owners", [3, 40])
def test_what_owners_share_is_asked_once(owners):
    problem = Problem(Squared(), Domain(3, 5.0, 5.0, (-1.0, 1.0)), 1e-5, 1.0)
    names = [f"owner {i}" for i in range(owners)]
    plan = Plan(problem, tuple(Party(name, 10, Budget(1.0)) for name in names), "one-at-a-time", 10)
    common = Counting(Clipped(Squared(), 1.0, "l1"), *rows(50, 3, seed=9))
    own = {name: risk_of(Squared(), *rows(10, 3, seed=i)) for i, name in enumerate(names)}
    risks = {name: PooledRisk([risk, common], [1.0, 1.0]) for name, risk in own.items()}
    exact = SimulatedRecords(plan, risks)
    random = np.random.default_rng(1)
    bloc, theta = random.integers(owners, size=20), random.standard_normal((20, 3))
    Counting.asked = 0
    answer = exact.exact(bloc, MeanGradient(theta))
    assert Counting.asked == 1
    for run in range(20):
        expected = risks[names[bloc[run]]].gradient(theta[run])
        np.testing.assert_allclose(answer[run], expected, atol=1e-12)


def test_pools_that_share_nothing_are_asked_each():
    problem = Problem(Squared(), Domain(3, 5.0, 5.0, (-1.0, 1.0)), 1e-5, 1.0)
    parties = (Party("a", 10, Budget(1.0)), Party("b", 10, Budget(1.0)))
    plan = Plan(problem, parties, "one-at-a-time", 9)

    def some(n, seed):
        return RowRisk(Clipped(Squared(), 1.0, "l1"), *rows(n, 3, seed=seed))

    risks = {
        name: PooledRisk([some(20, seed), some(9, seed + 5)], [0.5, 0.5])
        for seed, name in enumerate("ab")
    }
    exact = SimulatedRecords(plan, risks)
    theta = np.random.default_rng(1).standard_normal((2, 3))
    answer = exact.exact(np.array([1, 0]), MeanGradient(theta))
    np.testing.assert_allclose(answer[0], risks["b"].gradient(theta[0]), atol=1e-12)
    np.testing.assert_allclose(answer[1], risks["a"].gradient(theta[1]), atol=1e-12)
