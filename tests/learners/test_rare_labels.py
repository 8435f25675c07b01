"""How answers about labels move with the best model: against draws, and where labels are rare."""

import math

import numpy as np
import pytest
from scipy.special import expit

from problems import plan, problem
from treaty.fitness import RowRisk, risk_of
from treaty.learners import survey, view_of
from treaty.losses import Clipped, Logistic, Weighted
from treaty.simulation import simulate

P = 3


def _rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x = np.column_stack([random.uniform(-1, 1, (n, P - 1)), np.ones(n)])
    y = np.where(random.random(n) < expit(x @ np.array([1.0, -1.0, 0.5])), 1.0, -1.0)
    return x, y


@pytest.mark.parametrize("clip", [math.inf, 0.3])
@pytest.mark.parametrize("weights", [None, (1.0, 3.0)])
def test_the_mean_curvature_is_the_best_line_through_answers(clip, weights):
    """Labels drawn for many models that may be the best; clipped gradients at θ₀; least squares."""
    loss = Logistic() if weights is None else Weighted(Logistic(), *weights)
    answered = loss if math.isinf(clip) else Clipped(loss, clip, "l1")
    shape = problem(answered, P, ridge=0.0, theta_max=100.0)
    x, y = _rows(60, 0)
    theta = np.array([0.5, -0.2, 1.0])
    view = view_of(shape, RowRisk(shape.fitness_loss, x, y), theta, 1e-6 * np.eye(P))
    random = np.random.default_rng(1)
    draws = random.multivariate_normal(theta, view.covariance, size=40_000)
    # Which probabilities make each of them the best model: weighted odds are exp(xᵀθ).
    raised = 1.0 if weights is None else weights[1] / weights[0]
    odds = np.exp(x @ draws.T) / raised
    chance = odds / (1 + odds)
    slopes = [
        answered.on(x).slope((x @ theta)[:, None], np.full((len(x), 1), label))[:, 0]
        for label in (1.0, -1.0)
    ]
    answers = (slopes[1][:, None] + chance * (slopes[0] - slopes[1])[:, None]).T @ x / len(x)
    line = np.linalg.lstsq(
        np.column_stack([theta - draws, np.ones(len(draws))]), answers, rcond=None
    )[0]
    np.testing.assert_allclose(view.curvature, line[:-1], rtol=0.1, atol=2e-3)


def test_without_doubt_it_is_the_curvature():
    """Of very many rows θ* is known, and the mean over it is the value there."""
    shape = problem(Logistic(), P, ridge=0.0, theta_max=100.0)
    x, y = _rows(50, 2)
    rows = RowRisk(Logistic(), x, y)
    theta = np.array([0.5, -0.2, 1.0])
    view = view_of(shape, rows, theta, 1e-6 * np.eye(P), rows=10**9)
    np.testing.assert_allclose(view.curvature, rows.hessian(theta), rtol=1e-4)


def test_a_rare_label_tells_from_few_rows():
    """By hand: rows that are alike all count; one row that makes up all of the curvature is one row."""
    shape = problem(Logistic(), 1, theta_max=100.0)
    alike = RowRisk(Logistic(), np.ones((100, 1)), np.where(np.arange(100) < 50, 1.0, -1.0))
    theta = np.zeros(1)
    assert view_of(shape, alike, theta, np.eye(1)).rows == pytest.approx(100)
    x = np.full((100, 1), 1e-6)
    x[0] = 1.0
    lonely = RowRisk(Logistic(), x, alike.y)
    assert view_of(shape, lonely, theta, np.eye(1)).rows == pytest.approx(1, rel=1e-3)


def test_rare_labels_without_noise_do_not_run_away():
    """One label in a hundred, ten of them public: the curvature at the public model misleads."""

    def rows(n, seed):
        random = np.random.default_rng(seed)
        x = np.column_stack([random.standard_normal((n, 5)), np.ones(n)])
        y = np.where(random.random(n) < expit(x @ np.array([2, -2, 1, 1, 0, -7.5])), 1.0, -1.0)
        return x, y

    treaty = plan(
        Logistic(),
        "blended-step",
        p=6,
        n=4000,
        horizon=1,
        epsilon=math.inf,
        ridge=1e-6,
        begin="tuned",
    )
    data = {f"owner {i}": risk_of(treaty.problem.loss, *rows(4000, i)) for i in range(3)}
    better, shares = 0, []
    for seed in range(12):
        public = RowRisk(Logistic(), *rows(800, 100 + seed))
        informed = treaty.informed_by(survey(treaty.problem, public))
        trained = simulate(informed, data, runs=1)
        before = float(trained.yardstick.relative(informed.start))
        better += trained.final[0] < before
        shares.append(trained.final[0] / before)
    assert better >= 11
    assert np.mean(shares) < 0.8
