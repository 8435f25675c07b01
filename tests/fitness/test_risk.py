import itertools

import numpy as np
import pytest
from scipy import sparse

from problems import LOSSES, rows
from treaty.fitness import MomentRisk, Moments, RowRisk, pooled, risk_of
from treaty.fitness import risk as risk_module
from treaty.fitness.tilt import tilted
from treaty.losses import Clipped, Hinge, Squared, Windowed

CLIPPED = {
    **LOSSES,
    **{f"clipped in {n}": Clipped(LOSSES["squared"], 0.4, n) for n in ("l1", "l2")},
}


@pytest.mark.parametrize("name", LOSSES)
def test_many_models_at_once_equal_a_loop_over_records_and_models(name):
    loss = LOSSES[name]
    x, y = rows(57, 4, seed=1, labels=loss.labels)
    theta = np.random.default_rng(2).standard_normal((2, 3, 4))
    risk = risk_of(loss, x, y)
    for index in np.ndindex(2, 3):
        z = x @ theta[index]
        value = np.mean([loss.value(z[i], y[i]) for i in range(57)])
        gradient = np.mean([loss.slope(z[i], y[i]) * x[i] for i in range(57)], axis=0)
        assert risk.value(theta)[index] == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(risk.gradient(theta)[index], gradient, atol=1e-13)


@pytest.mark.parametrize("name", LOSSES)
def test_blocks_and_threads_change_nothing_but_rounding(name, monkeypatch):
    loss = LOSSES[name]
    x, y = rows(1000, 4, seed=1, labels=loss.labels)
    theta = np.random.default_rng(2).standard_normal((5, 4))
    whole = RowRisk(loss, x, y)
    value, gradient = whole.value(theta), whole.gradient(theta)
    monkeypatch.setattr(risk_module, "WORKING_SET", 320)
    monkeypatch.setattr("treaty.fitness.threads.SMALL", 0)
    np.testing.assert_allclose(whole.value(theta), value, rtol=1e-12)
    np.testing.assert_allclose(whole.gradient(theta), gradient, atol=1e-13)


@pytest.mark.parametrize("name", CLIPPED)
def test_sparse_rows_are_the_same_rows(name, monkeypatch):
    loss = CLIPPED[name]
    x, y = rows(700, 4, seed=1, labels=loss.labels)
    x[np.random.default_rng(5).random(x.shape) < 0.7] = 0.0
    whole, few = RowRisk(loss, x, y), RowRisk(loss, sparse.csr_array(x), y)
    theta = np.random.default_rng(2).standard_normal((5, 4))
    monkeypatch.setattr(risk_module, "WORKING_SET", 320)
    monkeypatch.setattr("treaty.fitness.threads.SMALL", 0)
    for measure in ("value", "gradient"):
        both = [getattr(risk, measure)(theta) for risk in (whole, few)]
        np.testing.assert_allclose(both[1], both[0], atol=1e-13)
    for measure in ("hessian", "gradient_covariance"):
        both = [getattr(risk, measure)(theta[0]) for risk in (whole, few)]
        np.testing.assert_allclose(both[1], both[0], atol=1e-13)
    moved = [risk.along(theta[0], theta[1])(0.3) for risk in (whole, few)]
    assert moved[1] == pytest.approx(moved[0], abs=1e-13)
    column = [risk.column(2).value(theta[:, 2:3]) for risk in (whole, few)]
    np.testing.assert_allclose(column[1], column[0], atol=1e-13)
    np.testing.assert_allclose(few.moments.xx, whole.moments.xx, atol=1e-13)
    np.testing.assert_allclose(few.moments.xy, whole.moments.xy, atol=1e-13)
    single = few.in_single_precision().gradient(theta)
    np.testing.assert_allclose(single, whole.gradient(theta), atol=1e-5)


@pytest.mark.parametrize("name", CLIPPED)
def test_a_gradient_along_axes_is_the_gradient_times_them(name, monkeypatch):
    """Of many models, in blocks, sparse, pooled and tilted; a clip along the axes is clipped by them."""
    x, y = rows(700, 4, seed=1, labels=CLIPPED[name].labels)
    random = np.random.default_rng(3)
    x[random.random(x.shape) < 0.5] = 0.0
    axes, theta = random.standard_normal((4, 2)), random.standard_normal((2, 3, 4))
    loss = CLIPPED[name]
    losses = [loss, loss.along(axes)] if isinstance(loss, Clipped) else [loss]
    monkeypatch.setattr(risk_module, "WORKING_SET", 320)
    monkeypatch.setattr("treaty.fitness.threads.SMALL", 0)
    for each in losses:
        one, other = (RowRisk(each, part, y) for part in (x, sparse.csr_array(x)))
        for risk in (one, other, pooled([one, risk_of(each, x[:90], y[:90])])):
            wanted = risk.gradient(theta) @ axes
            assert wanted.shape == (2, 3, 2)
            np.testing.assert_allclose(risk.gradient_along(theta, axes), wanted, atol=1e-13)
        leaning = tilted(one, np.arange(4.0), theta[0, 0])
        wanted = leaning.gradient(theta) @ axes
        np.testing.assert_allclose(leaning.gradient_along(theta, axes), wanted, atol=1e-12)
        size = np.abs(each.on(x).slope(x @ theta[0, 0][:, None], y[:, None]) * (x @ axes))
        if each is not loss:
            assert np.linalg.norm(size, {"l1": 1, "l2": 2}[each.norm], axis=1).max() <= 0.4 + 1e-12


def test_moments_by_hand():
    """Rows (1, 0)→1 and (1, 2)→3: XᵀX/2 = [[1, 1], [1, 2]], Xᵀy/2 = (2, 3), yᵀy/2 = 5."""
    moments = Moments.of([(np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([1.0, 3.0]))])
    np.testing.assert_allclose(moments.xx, [[1, 1], [1, 2]])
    np.testing.assert_allclose(moments.xy, [2, 3])
    assert (moments.yy, moments.n) == (5.0, 2)
    risk = MomentRisk(moments)
    assert risk.value(np.array([1.0, 1.0])) == pytest.approx(0.0)
    np.testing.assert_allclose(risk.gradient(np.array([0.0, 0.0])), [-4, -6])


def test_streamed_moments_equal_those_of_all_rows():
    x, y = rows(999, 4, seed=3)
    cuts = [0, 1, 500, 999]
    parts = [(x[a:b], y[a:b]) for a, b in itertools.pairwise(cuts)]
    streamed, whole = Moments.of(parts), Moments.of([(x, y)])
    np.testing.assert_allclose(streamed.xx, whole.xx, rtol=1e-12)
    np.testing.assert_allclose(streamed.xy, whole.xy, rtol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_a_pool_is_the_union(name):
    loss = LOSSES[name]
    parts = [rows(n, 4, seed=n, labels=loss.labels) for n in (20, 50)]
    x, y = (np.concatenate(both) for both in zip(*parts, strict=True))
    theta = np.random.default_rng(2).standard_normal((3, 4))
    pool, union = pooled([risk_of(loss, *part) for part in parts]), risk_of(loss, x, y)
    np.testing.assert_allclose(pool.value(theta), union.value(theta), rtol=1e-12)
    np.testing.assert_allclose(pool.gradient(theta), union.gradient(theta), atol=1e-13)
    np.testing.assert_allclose(pool.hessian(theta[0]), union.hessian(theta[0]), atol=1e-12)
    np.testing.assert_allclose(
        pool.column(3).value(theta[:, 3:]), union.column(3).value(theta[:, 3:]), rtol=1e-12
    )


@pytest.mark.parametrize("name", ["squared", "logistic", "huber"])
def test_hessian_is_the_derivative_of_the_gradient(name):
    loss = LOSSES[name]
    risk = RowRisk(loss, *rows(80, 4, seed=1, labels=loss.labels))
    theta, h = np.array([0.1, -0.2, 0.05, 0.3]), 1e-6
    numeric = [
        (risk.gradient(theta + h * e) - risk.gradient(theta - h * e)) / (2 * h) for e in np.eye(4)
    ]
    np.testing.assert_allclose(risk.hessian(theta), numeric, atol=1e-4)


def test_a_loss_made_from_squared_loss_is_not_taken_for_it():
    class Tenth(Squared):
        sufficient_statistics = True

        def value(self, score, target):
            return 0.1 * super().value(score, target)

        def slope(self, score, target):
            return 0.1 * super().slope(score, target)

    x, y = rows(30, 3, seed=0)
    tenth, plain = risk_of(Tenth(), x, y), risk_of(Squared(), x, y)
    np.testing.assert_allclose(tenth.gradient(np.ones(3)), 0.1 * plain.gradient(np.ones(3)))


def test_working_memory_does_not_grow_with_rows_or_models(monkeypatch):
    """No block of scores may exceed the working set by more than the least block of rows."""
    largest = 0

    class Watched(Squared):
        sufficient_statistics = False

        def slope(self, score, target):
            nonlocal largest
            largest = max(largest, score.size)
            return super().slope(score, target)

    x, y = rows(50_000, 3, seed=0)
    RowRisk(Watched(), x, y).gradient(np.zeros((3000, 3)))
    assert largest <= risk_module.WORKING_SET


@pytest.mark.parametrize("name", LOSSES)
def test_single_precision_differs_by_rounding_only(name):
    loss = LOSSES[name]
    x, y = rows(3_000, 4, seed=1, labels=loss.labels)
    theta = np.random.default_rng(2).standard_normal((7, 4))
    whole = RowRisk(loss, x, y)
    single = whole.in_single_precision()
    assert single.x.dtype == single.y.dtype == np.float32
    assert single.gradient(theta).dtype == np.float64
    np.testing.assert_allclose(single.value(theta), whole.value(theta), rtol=1e-5)
    # A score that rounding carries over a kink changes one row's slope.
    np.testing.assert_allclose(single.gradient(theta), whole.gradient(theta), atol=2e-3)


@pytest.mark.parametrize("name", LOSSES)
def test_the_derivative_along_a_direction_is_the_gradient_times_it(name):
    loss = LOSSES[name]
    x, y = rows(500, 4, seed=1, labels=loss.labels)
    theta, direction = np.random.default_rng(2).standard_normal((2, 4))
    parts = [RowRisk(loss, x[:200], y[:200]), RowRisk(loss, x[200:], y[200:])]
    for risk in (risk_of(loss, x, y), RowRisk(loss, x, y), pooled(parts)):
        along = risk.along(theta, direction)
        for t in (0.0, 0.3, 1.0):
            expected = float(risk.gradient(theta + t * direction) @ direction)
            assert along(t) == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_rows_without_curvature_do_not_count_in_the_hessian():
    x, y = rows(500, 4, seed=1, labels=True)
    theta = np.array([-2.0, 1.0, 2.0, 0.5])
    loss = Windowed(Hinge(), 0.05)
    curvature = loss.curvature(x @ theta, y)
    assert 0 < np.count_nonzero(curvature) < 100
    expected = (x * curvature[:, None]).T @ x / 500
    np.testing.assert_allclose(RowRisk(loss, x, y).hessian(theta), expected, atol=1e-14)
