"""Asking along a few axes: which ones, and what answers come to; against solvers and Bayes' rule."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg

from problems import plan, problem, rows
from treaty.errors import TreatyError
from treaty.fitness import RowRisk, risk_of
from treaty.learners import METHODS, Brief, PublicView, survey, view_of
from treaty.learners.axes import axes_of
from treaty.learners.blended_step import BlendedStep
from treaty.learners.geometry import declared_geometry
from treaty.losses import Clipped, Squared
from treaty.plans import Plan
from treaty.simulation import simulate


def _view(seed: int, p: int) -> PublicView:
    random = np.random.default_rng(seed)
    covariance, curvature, scatter, doubt = (
        r @ r.T + 0.1 * np.eye(p) for r in random.standard_normal((4, p, p))
    )
    answer = random.standard_normal(p)
    return PublicView(
        covariance, curvature, curvature, scatter, answer, doubt, curvature, curvature, 50
    )


def _learner(view: PublicView, axes: np.ndarray | None, noise: float, records: int) -> BlendedStep:
    p = len(view.answer)
    shape = problem(Clipped(Squared(), 1.0, axes=axes), p, theta_max=1e3).under_norm("l1")
    return BlendedStep(
        Brief(
            problem=shape,
            horizon=1,
            parameters={},
            geometry=declared_geometry(shape, np.zeros(p)),
            weights=np.ones(1),
            noises=np.array([noise]),
            frequencies=np.ones(1),
            frequency_scaling="off",
            start=np.zeros(p),
            records=records,
            public=view,
        )
    )


def test_axes_by_hand():
    """H = diag(4, 1) and Σ = diag(1, 2): off by chance costs ½·4 along the first, ½·2 along the second.

    The first axis is e₁/√4, along which a gradient H d is 2d₁: a move whose cost is half its square.
    """
    view = replace(_view(0, 2), whole=np.diag([4.0, 1.0]), covariance=np.diag([1.0, 2.0]))
    np.testing.assert_allclose(axes_of(view, 0.0, 1), [[0.5], [0.0]], atol=1e-9)
    # A ridge of 12 makes them 16 and 13·2: now the second costs more.
    np.testing.assert_allclose(axes_of(view, 12.0, 1), [[0.0], [1 / math.sqrt(13)]], atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_axes_hold_as_much_of_the_cost_as_any_so_many_directions(seed):
    """Against scipy's solver of generalised eigenproblems, and directions drawn at random."""
    p, k = 6, 1 + seed % 5
    view = _view(seed, p)
    axes = axes_of(view, 0.3, k)
    cost = view.whole + 0.3 * np.eye(p)
    np.testing.assert_allclose(axes.T @ cost @ axes, np.eye(k), atol=1e-9)
    moved = axes.T @ cost @ view.covariance @ cost @ axes
    largest = linalg.eigh(cost @ view.covariance @ cost, cost, eigvals_only=True)[::-1]
    np.testing.assert_allclose(np.diag(moved), largest[:k], rtol=1e-6)
    for drawn in np.random.default_rng(seed).standard_normal((30, p, k)):
        other = drawn @ np.linalg.inv(np.linalg.cholesky(drawn.T @ cost @ drawn)).T
        assert np.trace(other.T @ cost @ view.covariance @ cost @ other) < np.trace(moved) + 1e-9


def test_answers_along_axes_are_blended_as_bayes_rule_says():
    """θ* ~ N(θ₀, Σ), answer = AᵀH(θ₀ − θ*) + blur: the joint normal, conditioned."""
    random = np.random.default_rng(1)
    p, k, n, noise = 4, 2, 300, 0.7
    view, axes = _view(3, p), random.standard_normal((p, k))
    learner = _learner(view, axes, noise, n)
    answer = random.standard_normal(k)
    learner.tell(0, answer)
    blur = axes.T @ (view.scatter / n + view.doubt + view.bending(view.covariance)) @ axes
    blur += noise / k * np.eye(k)
    seen = axes.T @ view.curvature
    joint = seen @ view.covariance @ seen.T + blur
    back = -view.covariance @ seen.T @ np.linalg.inv(joint)
    step = back @ (answer - axes.T @ view.answer)
    # The model moves along the axes alone: as near to that step as it gets, in predictions.
    along = np.linalg.solve(axes.T @ view.whole @ axes, axes.T @ view.whole @ step)
    np.testing.assert_allclose(learner.model, axes @ along, rtol=1e-6)
    left = view.covariance + back @ seen @ view.covariance
    gain = 0.5 * np.sum(view.whole * (view.covariance - left))
    assert learner.expected_gain(view.whole) == pytest.approx(gain, rel=1e-6)


def test_orthonormal_axes_in_all_directions_are_the_whole_gradient():
    """A turn of all numbers changes nothing, where the noise is the same along each."""
    p, answer = 4, np.random.default_rng(0).standard_normal(4)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((p, p)))[0]
    whole, turned = _learner(_view(5, p), None, 0.5, 90), _learner(_view(5, p), turn, 0.5, 90)
    whole.tell(0, answer)
    turned.tell(0, answer @ turn)
    np.testing.assert_allclose(turned.model, whole.model, rtol=1e-6)


def _asked_along(k: int | None, epsilon: float) -> float:
    """Return how much of the public model's excess is left, mean over public rows."""
    p, left = 12, []
    truth = np.linspace(-1.0, 1.0, p)

    def drawn(n: int, seed: int):
        random = np.random.default_rng(seed)
        x = random.standard_normal((n, p)) * 0.3
        x[:, -1] = 1.0
        return x, np.clip(x @ truth + 0.5 * random.standard_normal(n), -4.0, 4.0)

    made = plan(
        Clipped(Squared(), 6.0),
        "blended-step",
        p=p,
        n=3000,
        horizon=1,
        epsilon=epsilon,
        ridge=1e-6,
        begin="public",
    )
    for seed in range(12):
        rows = RowRisk(made.problem.fitness_loss, *drawn(100, 50 + seed))
        asked = made
        if k is not None:
            found = survey(made.problem, rows)
            axes = axes_of(found.view("public"), made.problem.ridge, k)
            asked = replace(made, problem=made.problem.along(axes))
        informed = asked.informed_by(survey(asked.problem, rows))
        data = {f"owner {i}": risk_of(asked.problem.loss, *drawn(3000, i)) for i in range(3)}
        done = simulate(informed, data, runs=20)
        left.append(done.mean / float(done.yardstick.relative(informed.start)))
    return float(np.mean(left))


def test_with_little_noise_whole_gradients_tell_most_and_a_few_axes_their_share():
    """Of squared loss all axes cost alike: 3 of 12 take away about a quarter of what all do."""
    few, whole = (_asked_along(k, 100.0) for k in (3, None))
    assert whole < 0.2
    assert 1 - few == pytest.approx(0.25 * (1 - whole), abs=0.1)


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"blended-step"}))
def test_other_methods_refuse_axes(method):
    asked = problem(Clipped(Squared(), 1.0, axes=np.eye(4)[:, :2]))
    parties = plan(Squared(), "averaged-subgradient").parties
    shared = Plan(asked, parties, method, 1 if method == "one-shot" else 5)
    says = "without a clip" if method == "one-shot" else "needs whole gradients: leave axes out"
    with pytest.raises(TreatyError, match=f"{method} .*{says}"):
        shared.learner()


def test_axes_that_cannot_be():
    view = _view(0, 3)
    for count in (0, 3):
        with pytest.raises(TreatyError, match=f"at most 2 axes make them fewer, not {count}"):
            axes_of(view, 0.0, count)
    with pytest.raises(TreatyError, match="have no bound unless they are clipped"):
        problem(Squared()).along(np.eye(4)[:, :2])
    with pytest.raises(TreatyError, match="axes of 3 numbers do not go with gradients of 4"):
        problem(Clipped(Squared(), 1.0)).along(np.eye(3)[:, :2])


def test_a_column_that_no_public_row_has_is_no_trouble():
    x, y = rows(80, 4, seed=1)
    x[:, 1] = 0.0
    shape = problem(Clipped(Squared(), 1.0, "l1"), ridge=0.0)
    found = survey(shape, RowRisk(Squared(), x, y))
    view = view_of(shape, found.risk, found.theta, 1e-3 * np.eye(4))
    assert np.isfinite(axes_of(view, 0.0, 2)).all()
