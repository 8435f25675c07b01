"""Paths between an owner's own model and a shared one, against independent computations."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from problems import LOSSES, problem, rows
from treaty.adaptation import in_predictions
from treaty.adaptation.anchored import AnchoredRisk
from treaty.adaptation.metrics import without_level
from treaty.adaptation.path import path_of
from treaty.fitness import optimum, risk_of
from treaty.losses import Logistic, Squared

P = 4


def _metric(seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    root = random.standard_normal((P, P))
    return root @ root.T + 0.1 * np.eye(P)


@given(seed=st.integers(0, 10_000), strength=st.floats(1e-3, 1e3))
@settings(max_examples=30)
def test_the_closed_form_solves_the_normal_equations(seed, strength):
    x, y = rows(60, P, seed)
    metric, anchor = _metric(seed), np.random.default_rng(seed).standard_normal(P)
    found = path_of(problem(Squared()), risk_of(Squared(), x, y), metric)
    theta = found.models(anchor[None], [strength])[0, 0]
    hessian = 2 * x.T @ x / len(y)
    expected = np.linalg.solve(
        hessian + strength * metric, 2 * x.T @ y / len(y) + strength * metric @ anchor
    )
    np.testing.assert_allclose(theta, expected, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_is_solved_as_a_general_solver_does(name):
    loss = LOSSES[name]
    x, y = rows(80, P, 1, labels=loss.labels)
    metric, anchor = _metric(1), np.array([0.5, -0.5, 0.2, 0.1])
    path = path_of(problem(loss), risk_of(loss, x, y), metric)
    strengths = [0.01, 1.0, 100.0]
    compared = path.models(anchor[None], strengths)[0]
    for strength, near in zip(strengths, compared, strict=True):
        theta = path.exact(anchor, strength)

        def objective(t, strength=strength):
            away = t - anchor
            return float(loss.value(x @ t, y).mean()) + 0.5 * strength * away @ metric @ away

        peer = minimize(objective, anchor, method="Powell", options={"xtol": 1e-9, "ftol": 1e-13})
        assert objective(theta) <= peer.fun + (1e-4 if name == "hinge" else 1e-7)
        assert objective(near) <= objective(theta) + 0.02


def test_the_ends_of_a_path_are_the_own_model_and_the_shared_one():
    x, y = rows(200, P, 2)
    risk, anchor = risk_of(Squared(), x, y), np.array([1.0, 2.0, -1.0, 0.5])
    held, free = in_predictions(problem(Squared()), risk, anchor)
    path = path_of(problem(Squared()), risk, held.matrix)
    own, shared = path.models(anchor[None], [0.0, math.inf])[0]
    np.testing.assert_allclose(own, np.linalg.lstsq(x, y, rcond=None)[0], atol=1e-6)
    np.testing.assert_allclose(shared, anchor, atol=1e-5)
    level = path_of(problem(Squared()), risk, free.matrix).models(anchor[None], [math.inf])[0, 0]
    np.testing.assert_allclose(level[:-1], anchor[:-1], atol=1e-5)
    assert level[-1] == pytest.approx(anchor[-1] + np.mean(y - x @ anchor), abs=1e-5)


def test_a_free_level_costs_nothing_and_the_rest_what_its_best_level_costs():
    matrix = _metric(3)
    free = without_level(matrix, P - 1)
    shift = np.array([0, 0, 0, 1.0])
    assert shift @ free @ shift == 0
    d = np.array([1.0, -2.0, 0.5, 0.0])
    least = min((d + t * shift) @ matrix @ (d + t * shift) for t in np.linspace(-20, 20, 400_001))
    assert d @ free @ d == pytest.approx(least, rel=1e-6)


def test_an_anchored_risk_is_its_own_derivative():
    x, y = rows(50, P, 4, labels=True)
    risk = AnchoredRisk(risk_of(Logistic(), x, y), np.full(P, 0.3), _metric(4))
    theta, d, h = np.array([0.1, -0.2, 0.4, 0.0]), np.array([1.0, 0.5, -1.0, 2.0]), 1e-5
    slope = (risk.value(theta + h * d) - risk.value(theta - h * d)) / (2 * h)
    assert risk.gradient(theta) @ d == pytest.approx(slope, rel=1e-6)
    assert risk.along(theta, d)(0.0) == pytest.approx(slope, rel=1e-6)
    bend = (risk.gradient(theta + h * d) - risk.gradient(theta - h * d)) / (2 * h)
    np.testing.assert_allclose(risk.hessian(theta) @ d, bend, rtol=1e-5)
    assert optimum(problem(Logistic(), ridge=0.0, theta_max=math.inf), risk).gap <= 1e-6
