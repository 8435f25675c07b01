"""One question for all: the model of noised moments, and everything after it for nothing."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treaty as t
from problems import plan, problem, risks
from treaty.errors import TreatyError
from treaty.fitness import optimum, pooled
from treaty.fitness.solver import lowest_in_box
from treaty.losses import Clipped, Logistic, Squared
from treaty.plans import Driver, Party, Plan
from treaty.privacy import Budget
from treaty.questions import SecondMoments
from treaty.questions.second_moments import unpacked


@pytest.mark.parametrize("theta_max", [3.0, 0.2])
@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_without_noise_it_is_the_optimum(theta_max, ridge):
    """Inside Θ and at its edge, as the exact solver has it."""
    chosen = problem(Squared(), 4, ridge, theta_max)
    parties = tuple(Party(f"owner {i}", 200, Budget(math.inf)) for i in range(3))
    data = risks(Squared())
    result = t.simulate(Plan(chosen, parties, "one-shot", 1), data, runs=2)
    best = optimum(chosen, pooled(list(data.values()))).theta
    np.testing.assert_allclose(result.models[0], best, atol=1e-6)
    np.testing.assert_allclose(result.models[1], best, atol=1e-6)


def test_by_hand():
    """p = 1, A = 2 and b = 1 without noise and λ = 1: θ = b/(A + λ/2) = 0.4."""
    chosen = t.Problem(Squared(), t.Domain(1, 3.0, 3.0, (-1.0, 1.0)), 1.0, 5.0)
    learner = Plan(chosen, (Party("a", 9, Budget(math.inf)),), "one-shot", 1).learner()
    c = 3.0
    learner.tell(0, np.array([2.0, c * 1.0]))
    assert learner.finished
    np.testing.assert_allclose(learner.model, [0.4])
    np.testing.assert_allclose(learner.gradient(np.array([0.4])), [2 * (2 * 0.4 - 1)])


@given(seed=st.integers(0, 10**6), epsilon=st.floats(0.01, 100.0))
@settings(max_examples=40)
def test_the_ridge_is_what_it_says(seed, epsilon):
    """The least eigenvalue of what is solved is never below the noise's own spectral norm."""
    shared = plan(Squared(), "one-shot", epsilon=epsilon, ridge=0.0)
    learner, chosen = shared.learner(), shared.problem
    length = SecondMoments.length(chosen)
    answer = np.random.default_rng(seed).standard_normal(length)
    learner.tell(0, answer)
    xx, xy = unpacked(answer, chosen)
    v = float(shared.shares**2 @ shared.variances) / length
    wanted = max(math.sqrt(2 * 4 * v), np.linalg.eigvalsh(xx)[0])
    ridge = wanted - np.linalg.eigvalsh(xx)[0]
    solved = lowest_in_box(2 * (xx + ridge * np.eye(4)), -2 * xy, np.zeros(4), 3.0)
    np.testing.assert_allclose(learner.model, solved, atol=1e-8)


def test_the_noise_has_the_spectral_norm_that_the_ridge_counts_on():
    """Wigner: independent noise of variance v on the diagonal and v/2 off it has norm √(2pv)."""
    p, v = 60, 0.3
    random = np.random.default_rng(0)
    noise = random.standard_normal(p * (p + 1) // 2 + p) * math.sqrt(v)
    chosen = t.Problem(Squared(), t.Domain(p, 9.0, 1.0, (-1.0, 1.0)), 0.0, 5.0)
    matrix, _ = unpacked(noise, chosen)
    assert np.linalg.norm(matrix, 2) == pytest.approx(math.sqrt(2 * p * v), rel=0.1)


def test_every_later_gradient_is_that_of_the_noised_moments():
    shared, data = plan(Squared(), "one-shot", epsilon=2.0), risks(Squared())
    learner = t.simulate(shared, data, runs=6, seed=3).learner
    thetas = np.random.default_rng(1).standard_normal((6, 4))
    gradients = learner.gradient(thetas)
    exact = pooled(list(data.values())).gradient(thetas)
    assert np.abs(gradients - exact).max() > 0
    np.testing.assert_allclose(
        learner.gradient(thetas + 1.0) - gradients,
        2 * np.einsum("rij,j->ri", learner._xx, np.ones(4)),
        atol=1e-9,
    )


def test_it_says_what_it_needs():
    parties = (Party("a", 9, Budget(1.0)),)
    for chosen, horizon, says in (
        (problem(Logistic()), 1, "gradients of the logistic loss"),
        (
            problem(Clipped(Squared(), 1.0)),
            1,
            "gradients of the clipped squared loss",
        ),
        (problem(Squared(), theta_max=math.inf), 1, "give a finite theta_max"),
        (problem(Squared()), 5, "asks once: its horizon is 1, not 5"),
    ):
        with pytest.raises(TreatyError, match=says):
            Plan(chosen, parties, "one-shot", horizon).learner()
    fresh = Driver(Plan(problem(Squared()), parties, "one-shot", 1)).learner
    with pytest.raises(TreatyError, match="not been told any moments"):
        fresh.gradient(np.zeros(4))
