"""What stands in for owners that differ: told from chance, by hand and by brute force."""

import numpy as np
import pytest

from problems import problem, rows
from treaty.evidence.costs import median_over_mean
from treaty.fitness import RowRisk, optimum, pooled, risk_of
from treaty.fitness.tilt import TiltedRisk, tilted
from treaty.losses import Logistic, Squared


@pytest.mark.parametrize("loss", [Squared(), Logistic()])
def test_tilting_changes_the_gradient_and_nothing_else(loss):
    x, y = rows(50, 4, seed=2)
    y = np.sign(y) if isinstance(loss, Logistic) else y
    random = np.random.default_rng(0)
    slope, centre = random.standard_normal((2, 4))
    plain, made = risk_of(loss, x, y), tilted(risk_of(loss, x, y), slope, centre)
    thetas = random.standard_normal((6, 4))
    np.testing.assert_allclose(made.gradient(thetas), plain.gradient(thetas) + slope)
    np.testing.assert_allclose(made.value(centre), plain.value(centre))
    np.testing.assert_allclose(made.hessian(centre), plain.hessian(centre))
    along = made.along(thetas[0], thetas[1])
    for t in (-0.5, 0.0, 2.0):
        there = made.gradient(thetas[0] + t * thetas[1]) @ thetas[1]
        assert along(t) == pytest.approx(float(there))
    step = 1e-6
    for theta in thetas:
        slopes = [
            (made.value(theta + step * e) - made.value(theta - step * e)) / (2 * step)
            for e in np.eye(4)
        ]
        np.testing.assert_allclose(made.gradient(theta), slopes, atol=1e-6)


def test_moments_and_rows_tilt_alike():
    x, y = rows(60, 3, seed=5)
    slope, centre = np.array([0.3, -0.2, 0.1]), np.array([0.1, 0.2, -0.5])
    by_moments = tilted(risk_of(Squared(), x, y), slope, centre)
    by_rows = TiltedRisk(RowRisk(Squared(), x, y), slope, centre)
    thetas = np.random.default_rng(1).standard_normal((4, 3))
    np.testing.assert_allclose(by_moments.value(thetas), by_rows.value(thetas))
    np.testing.assert_allclose(by_moments.gradient(thetas), by_rows.gradient(thetas))
    np.testing.assert_allclose(
        by_rows.column(1).value(np.array([0.4])),
        RowRisk(Squared(), x[:, [1]], y).value(np.array([0.4])) + slope[1] * (0.4 - centre[1]),
    )


def test_what_gradients_scatter_stays():
    x, y = rows(40, 3, seed=6)
    plain = RowRisk(Squared(), x, y)
    made = TiltedRisk(plain, np.array([1.0, 2.0, 3.0]), np.zeros(3))
    theta = np.array([0.1, -0.1, 0.2])

    def scatter(risk):
        mean = risk.gradient(theta)
        return risk.gradient_covariance(theta) - np.outer(mean, mean)

    np.testing.assert_allclose(scatter(made), scatter(plain), atol=1e-12)


def test_a_pool_holds_everything_once():
    chosen = problem(Squared(), 3)
    parts = [RowRisk(Squared(), *rows(30, 3, seed=s)) for s in range(3)]
    inner = pooled([parts[0], parts[1]], [0.4, 0.6])
    nested = pooled([inner, parts[0], parts[2]], [0.5, 0.2, 0.3])
    flat = pooled(parts, [0.4, 0.3, 0.3])
    thetas = np.random.default_rng(2).standard_normal((5, 3))
    np.testing.assert_allclose(nested.value(thetas), flat.value(thetas))
    np.testing.assert_allclose(nested.gradient(thetas), flat.gradient(thetas))
    assert nested.n == 90
    np.testing.assert_allclose(
        optimum(chosen, nested).theta, optimum(chosen, flat).theta, atol=1e-6
    )


@pytest.mark.parametrize("spectrum", [[1.0], [1.0, 1.0, 1.0], [5.0, 1.0, 0.5, 0.1], [1.0] * 20])
def test_the_median_of_squares_is_below_their_mean(spectrum):
    draws = np.random.default_rng(0).standard_normal((200_000, len(spectrum))) ** 2 @ spectrum
    told = median_over_mean(np.array(spectrum))
    assert told == pytest.approx(np.median(draws) / draws.mean(), rel=0.05)
