"""A plan holds everything about a training, and what can be done with one are its verbs."""

import math
from dataclasses import replace

import numpy as np
import pytest

from problems import plan, problem, risks
from treaty.errors import TreatyError
from treaty.learners import Learner, survey
from treaty.losses import Clipped, Squared
from treaty.plans import Driver, Party, Plan
from treaty.privacy import Budget, Gaussian, Laplace
from treaty.questions import MeanGradient


def test_another_mechanism_has_the_clip_in_its_own_norm():
    parties = (Party("a", 100, Budget(1.0, 1e-6)),)
    clipped = Plan(problem(Clipped(Squared(), 0.5)), parties, "averaged-subgradient", 5)
    assert clipped.problem.loss.norm == "l1"
    other = replace(clipped, mechanism=Gaussian())
    assert other.problem.loss.norm == "l2"
    assert other.problem.gradient_bound("l2") == 0.5
    assert replace(other, mechanism=Laplace()).problem.loss.norm == "l1"
    named = Plan(problem(Clipped(Squared(), 0.5, "l1")), parties, "averaged-subgradient", 5)
    assert replace(named, mechanism=Gaussian()).problem.loss.norm == "l1"
    with pytest.raises(TreatyError, match="put it into a plan, or name a norm"):
        problem(Clipped(Squared(), 0.5)).gradient_bound("l1")


def test_budgets_parties_and_silence():
    shared = plan(Squared(), "averaged-subgradient")
    doubled = shared.with_budgets(lambda party: Budget(2 * party.budget.epsilon))
    np.testing.assert_allclose(doubled.scales, shared.scales / 2)
    assert shared.silent().scales.tolist() == [0.0, 0.0, 0.0]
    assert [p.name for p in shared.with_parties(shared.parties[:2]).parties] == [
        "owner 0",
        "owner 1",
    ]
    assert shared.total == 600
    assert shared.party("owner 1") is shared.parties[1]
    assert shared.party("nobody") is None


def test_public_rows_inform_start_and_geometry():
    shared, data = plan(Squared(), "averaged-subgradient"), risks(Squared())
    public = survey(shared.problem, data["owner 0"])
    informed = shared.informed_by(public)
    assert informed.start is None
    assert informed.public is None  # its learner asks for nothing more
    begins = replace(shared, begin="public")
    with pytest.raises(TreatyError, match="to start from the public model"):
        begins.learner()
    np.testing.assert_allclose(begins.informed_by(public).learner().model, public.theta)
    written = informed.with_steps()
    assert written.parameters == informed.learner().step_sizes
    assert written.with_budgets(lambda party: Budget(9.0)).learner().step_sizes == (
        written.parameters
    )


class Newton(Learner):
    """θ ← Π[θ − H⁻¹(∇g + answer)], H of public rows."""

    name = "newton"
    synchronous = True
    needs_public_rows = True

    def __init__(self, brief):
        super().__init__(brief)
        self.model = brief.begin
        self._inverse = np.linalg.inv(brief.public.curvature)

    @classmethod
    def check(cls, problem, horizon):
        pass

    @classmethod
    def questions(cls, horizon):
        return horizon

    def ask(self, bloc):
        return MeanGradient(self.model)

    def tell(self, bloc, answer):
        step = (self.problem.ridge * self.model + answer) @ self._inverse
        self.model = self.problem.project(self.model - step)
        self.round += 1


def test_a_learner_with_public_rows(monkeypatch):
    """It is refused without, and with the very curvature of the records it is there in one step."""
    from treaty.fitness import optimum, pooled
    from treaty.learners.registry import METHODS
    from treaty.simulation import simulate

    monkeypatch.setitem(METHODS, "newton", Newton)
    data = risks(Squared())
    union = pooled(list(data.values()))
    shared = plan(Squared(), "newton", horizon=1, epsilon=math.inf)
    with pytest.raises(TreatyError, match="newton begins at a model of public rows"):
        shared.learner()
    shared = replace(shared, begin="public")
    informed = shared.informed_by(survey(shared.problem, union))
    result = simulate(informed, data, runs=2)
    best = optimum(shared.problem, union).theta
    np.testing.assert_allclose(result.models[0], best, atol=1e-9)


def test_a_round_that_is_not_told_comes_again():
    driver = Driver(plan(Squared(), "one-at-a-time", horizon=3))
    told = 0
    for number in driver.rounds():
        driver.ask(0)
        if number == 2 and told == 1:
            told = 2
            continue
        driver.tell(0, {0: [0.0] * 4})
        told = max(told, 1)
    assert driver.learner.finished
    assert told == 2


def test_the_mean_of_a_bloc_is_by_shares_of_those_that_came():
    shared = Plan(
        problem(Squared()),
        (Party("a", 100, Budget(1.0)), Party("b", 300, Budget(1.0))),
        "averaged-subgradient",
        5,
    )
    (bloc,) = shared.blocs_met
    both = {0: (1.0, 0.0), 1: (0.0, 1.0)}
    np.testing.assert_allclose(bloc.mean(both), [0.25, 0.75])
    np.testing.assert_allclose(bloc.mean({1: (0.0, 1.0)}), [0.0, 1.0])
