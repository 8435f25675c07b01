"""What both papers measure: ψ falls with ε² and n² where noise dominates."""

from dataclasses import replace

import numpy as np
import pytest

from problems import plan, risks
from treaty.fitness import optimum, pooled
from treaty.learners import METHODS
from treaty.losses import Squared
from treaty.privacy import Budget
from treaty.simulation import simulate


# A blend rests on public rows where the budget is small: what it costs does not fall as noise does.
@pytest.mark.parametrize("method", sorted(METHODS.keys() - {"blended-step"}))
def test_slope_minus_two_in_epsilon_and_n(method):
    data = risks(Squared())
    parameters = {
        "shrinking-steps": {"rho": 20.0},
        "averaged-subgradient": {"c1": 0.2},
        "one-at-a-time": {"rho": 0.2},
        "one-shot": {},
    }[method]
    base = plan(Squared(), method, horizon=20, parameters=parameters)
    start = optimum(base.problem, pooled(list(data.values()))).theta

    def psi(epsilon: float, records: int) -> float:
        parties = tuple(
            replace(party, budget=Budget(epsilon), records=records) for party in base.parties
        )
        return simulate(replace(base, parties=parties, start=start), data, runs=300).mean

    epsilons, sizes = np.array([2.0, 4, 8]), np.array([10**4, 2 * 10**4, 4 * 10**4])
    by_epsilon = [psi(e, 10**4) for e in epsilons]
    by_size = [psi(2.0, int(n)) for n in sizes]
    assert np.polyfit(np.log(epsilons), np.log(by_epsilon), 1)[0] == pytest.approx(-2, abs=0.2)
    assert np.polyfit(np.log(sizes), np.log(by_size), 1)[0] == pytest.approx(-2, abs=0.2)
