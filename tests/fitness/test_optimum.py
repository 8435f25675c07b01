"""θ* against independent solvers: scikit-learn, SciPy, and brute force."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from sklearn.linear_model import HuberRegressor, LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from problems import LOSSES, problem, rows
from treaty.errors import TreatyError
from treaty.fitness import Problem, optimum, risk_of, yardstick
from treaty.fitness.tilt import TiltedRisk
from treaty.fitness.yardsticks import best_constant, model_alone
from treaty.losses import Clipped, Domain, Hinge, Huber, Logistic, Loss, Squared

WIDE = 1e3


def _f(problem, risk, theta):
    return float(problem.penalty(theta) + risk.value(theta))


def test_squared_equals_ridge_regression():
    x, y = rows(300, 4, seed=1)
    best = optimum(problem(Squared(), ridge=0.1, theta_max=WIDE), risk_of(Squared(), x, y))
    peer = Ridge(alpha=0.05 * len(y), fit_intercept=False, tol=1e-12).fit(x, y)
    np.testing.assert_allclose(best.theta, peer.coef_, rtol=1e-8)


def test_logistic_equals_scikit_learn():
    x, y = rows(300, 4, seed=1, labels=True)
    best = optimum(problem(Logistic(), ridge=0.02, theta_max=WIDE), risk_of(Logistic(), x, y))
    peer = LogisticRegression(C=1 / (0.02 * len(y)), fit_intercept=False, tol=1e-12, max_iter=9999)
    np.testing.assert_allclose(best.theta, peer.fit(x, y).coef_[0], rtol=1e-5)


def test_hinge_equals_scikit_learn():
    x, y = rows(300, 4, seed=1, labels=True)
    chosen = problem(Hinge(), ridge=0.02, theta_max=WIDE)
    best = optimum(chosen, risk_of(Hinge(), x, y))
    peer = LinearSVC(
        loss="hinge", C=1 / (0.02 * len(y)), fit_intercept=False, tol=1e-10, max_iter=10**6
    ).fit(x, y)
    theirs = _f(chosen, risk_of(Hinge(), x, y), peer.coef_[0])
    assert best.value == pytest.approx(theirs, rel=1e-6)
    np.testing.assert_allclose(best.theta, peer.coef_[0], atol=1e-3)


def test_hinge_without_ridge_equals_a_linear_program():
    x, y = rows(60, 4, seed=2, labels=True)
    chosen = problem(Hinge(), ridge=0.0, theta_max=0.8)
    best = optimum(chosen, risk_of(Hinge(), x, y))
    n, p = x.shape
    program = linprog(
        np.r_[np.zeros(p), np.full(n, 1 / n)],
        A_ub=-np.hstack([x * y[:, None], np.eye(n)]),
        b_ub=-np.ones(n),
        bounds=[(-0.8, 0.8)] * p + [(0, None)] * n,
    )
    assert best.value == pytest.approx(program.fun, rel=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_a_tilted_hinge_below_zero_equals_a_linear_program(seed):
    """Records that a rehearsal draws may have a negative risk; the tolerance follows its size."""
    x, y = rows(25, 4, seed=seed, labels=True)
    slope = np.random.default_rng(seed).normal(size=4) * 0.3
    chosen = problem(Hinge(), ridge=0.0, theta_max=10.0)
    best = optimum(chosen, TiltedRisk(risk_of(Hinge(), x, y), slope, np.zeros(4)))
    program = linprog(
        np.r_[slope, np.full(25, 1 / 25)],
        A_ub=-np.hstack([x * y[:, None], np.eye(25)]),
        b_ub=-np.ones(25),
        bounds=[(-10, 10)] * 4 + [(0, None)] * 25,
    )
    assert best.value == pytest.approx(program.fun, rel=1e-6, abs=1e-9)


def test_huber_equals_scikit_learn():
    """HuberRegressor also fits a scale; at its scale s our δ is epsilon·s."""
    x, y = rows(400, 4, seed=1)
    peer = HuberRegressor(epsilon=1.35, alpha=0.0, fit_intercept=False, tol=1e-10, max_iter=9999)
    peer.fit(x, y)
    loss = Huber(1.35 * peer.scale_)
    best = optimum(problem(loss, ridge=0.0, theta_max=WIDE), risk_of(loss, x, y))
    np.testing.assert_allclose(best.theta, peer.coef_, atol=1e-4)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("theta_max", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("ridge", [0.0, 1e-5, 1.0])
def test_no_other_point_of_the_box_is_better(name, theta_max, ridge):
    loss = LOSSES[name]
    chosen = problem(loss, p=3, ridge=ridge, theta_max=theta_max)
    risk = risk_of(loss, *rows(90, 3, seed=4, labels=loss.labels))
    best = optimum(chosen, risk)
    assert best.gap <= 1e-6
    assert np.all(np.abs(best.theta) <= theta_max)
    grid = np.linspace(-theta_max, theta_max, 21)
    everywhere = np.stack(np.meshgrid(grid, grid, grid), axis=-1).reshape(-1, 3)
    values = chosen.penalty(everywhere) + risk.value(everywhere)
    assert best.value <= values.min() * (1 + 1e-6)
    peer = minimize(
        lambda t: _f(chosen, risk, t),
        everywhere[values.argmin()],
        bounds=[(-theta_max, theta_max)] * 3,
        method="Powell",
        options={"xtol": 1e-10, "ftol": 1e-12},
    )
    assert best.value <= peer.fun * (1 + 1e-6)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 40), ridge=st.sampled_from([0.0, 1e-4, 0.5]))
@settings(max_examples=40)
def test_the_stated_gap_is_never_exceeded(seed, n, ridge):
    """A second solver may not find anything better than value·(1 − gap)."""
    loss = list(LOSSES.values())[seed % 4]
    chosen = problem(loss, p=3, ridge=ridge, theta_max=1.5)
    risk = risk_of(loss, *rows(n, 3, seed=seed, labels=loss.labels))
    best = optimum(chosen, risk)
    random = np.random.default_rng(seed)
    near = best.theta + random.standard_normal((300, 3)) * random.choice([1e-4, 1e-2, 1], (300, 1))
    near = np.clip(near, -1.5, 1.5)
    lowest = float((chosen.penalty(near) + risk.value(near)).min())
    assert lowest >= best.value * (1 - 1.1e-6) - 1e-12


def test_infinite_box_is_allowed_with_a_ridge():
    x, y = rows(100, 3, seed=1, labels=True)
    for loss in (Hinge(), Logistic()):
        free = optimum(problem(loss, 3, 0.05, math.inf), risk_of(loss, x, y))
        wide = optimum(problem(loss, 3, 0.05, 1e3), risk_of(loss, x, y))
        assert free.value == pytest.approx(wide.value, rel=1e-6)


def test_collinear_columns_and_no_ridge():
    x, y = rows(100, 3, seed=1)
    twice = np.column_stack([x, x])
    wide = Problem(Squared(), Domain(6, 9.0, 3.0, (-1, 1)), 0.0, 100.0)
    best = optimum(wide, risk_of(Squared(), twice, y))
    single = optimum(problem(Squared(), 3, 0.0, 100.0), risk_of(Squared(), x, y))
    assert best.value == pytest.approx(single.value, rel=1e-6)


def test_a_users_loss_with_kinks_is_solved_too():
    class Absolute(Loss):
        name = "absolute"

        def value(self, score, target):
            return np.abs(score - target)

        def slope(self, score, target):
            return np.sign(score - target)

        def slope_bound(self, score_bound, target):
            return 1.0

    x, y = rows(150, 3, seed=5)
    chosen = problem(Absolute(), 3, 1e-3, 2.0)
    best = optimum(chosen, risk_of(Absolute(), x, y))
    assert best.gap <= 1e-6
    peer = minimize(
        lambda t: _f(chosen, risk_of(Absolute(), x, y), t), best.theta, method="Nelder-Mead"
    )
    assert best.value <= peer.fun * (1 + 1e-6)


def test_clipping_is_measured_against_the_unclipped_optimum():
    x, y = rows(200, 4, seed=1)
    plain, clipped = Squared(), Clipped(Squared(), 0.1, "l1")
    of_clipped = yardstick(problem(clipped), {"a": risk_of(clipped, x, y)})
    of_plain = yardstick(problem(plain), {"a": risk_of(plain, x, y)})
    assert of_clipped.best.value == pytest.approx(of_plain.best.value, rel=1e-9)


def test_the_three_models_to_beat():
    x, y = rows(500, 4, seed=1)
    chosen, risk = problem(Squared(), ridge=0.0), risk_of(Squared(), x, y)
    stick = yardstick(chosen, {"a": risk})
    constant = best_constant(chosen, risk)
    np.testing.assert_allclose(constant, [0, 0, 0, y.mean()], atol=1e-9)
    assert stick.fitness(constant) == pytest.approx(y.var(), rel=1e-9)
    assert stick.relative(model_alone(chosen, risk)) == pytest.approx(0.0, abs=1e-9)
    assert np.all(stick.relative(np.random.default_rng(0).standard_normal((50, 4))) >= 0)


def test_psi_of_a_perfect_fit_is_refused():
    x, _ = rows(50, 4, seed=1)
    stick = yardstick(problem(Squared(), ridge=0.0), {"a": risk_of(Squared(), x, 0 * x[:, 0])})
    with pytest.raises(TreatyError, match="fits every record perfectly"):
        stick.relative(np.zeros(4))
