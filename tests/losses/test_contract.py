"""Every declared bound is searched for a record and a θ that break it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treaty.errors import TreatyError
from treaty.losses import (
    Clipped,
    Domain,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Squared,
    Weighted,
    loss_named,
    permit,
)


class Pinball(Loss):
    """A user's own loss: φ(z, y) = max(τ(y − z), (τ − 1)(y − z))."""

    name = "pinball"

    def __init__(self, tau: float = 0.7) -> None:
        self.tau = tau

    def value(self, score, target):
        return np.maximum(self.tau * (target - score), (self.tau - 1) * (target - score))

    def slope(self, score, target):
        return np.where(target > score, -self.tau, 1 - self.tau) + 0.0 * score

    def slope_bound(self, score_bound, target):
        return max(self.tau, 1 - self.tau)


PLAIN = [
    Squared(),
    Hinge(),
    Logistic(),
    Huber(0.3),
    Huber(2.0),
    Pinball(),
    Weighted(Logistic(), 1.0, 50.0),
    Weighted(Hinge(), 3.0, 0.5),
]
CLIPPED = [Clipped(loss, c, norm) for loss in PLAIN for c in (0.05, 1.0) for norm in ("l1", "l2")]
P = 3

coordinates = st.floats(-1.0, 1.0, width=32)
vectors = st.lists(coordinates, min_size=P, max_size=P).map(np.array)


def _name(loss: Loss) -> str:
    if isinstance(loss, Clipped):
        return f"clipped {loss.loss.name} {loss.limit} {loss.norm}"
    if isinstance(loss, Weighted):
        return f"{loss.loss.name} weighted by {loss.negative} and {loss.positive}"
    return f"{loss.name}"


def _target(loss: Loss, raw: float) -> float:
    return (1.0 if raw >= 0 else -1.0) if loss.labels else raw


def _gradient(loss: Loss, theta, x, y) -> np.ndarray:
    row = x[None, :]
    slope = loss.on(row).slope(np.array([[theta @ x]]), np.array([[y]]))
    return slope[0, 0] * x


@pytest.mark.parametrize("loss", PLAIN + CLIPPED, ids=_name)
@pytest.mark.parametrize("ball", ["l1", "l2"])
@given(direction=vectors, raw_theta=vectors, raw_y=coordinates, size=st.floats(0, 1))
@settings(max_examples=60)
def test_gradient_never_exceeds_its_declared_bound(loss, ball, direction, raw_theta, raw_y, size):
    radius, theta_max = 1.7, 2.5
    length = np.abs(direction).sum() if ball == "l1" else np.linalg.norm(direction)
    x = direction * (radius * size / length) if length > 0 else direction
    domain = Domain(
        P,
        radius if ball == "l1" else math.sqrt(P) * radius,
        radius,
        (-1.0, 1.0),
    )
    y = _target(loss, raw_y)
    gradient = _gradient(loss, theta_max * raw_theta, x, y)
    slack = 1 + 1e-9
    assert np.abs(gradient).sum() <= loss.gradient_bound(domain, theta_max, "l1") * slack
    assert np.linalg.norm(gradient) <= loss.gradient_bound(domain, theta_max, "l2") * slack


@pytest.mark.parametrize(
    "loss", [Squared(), Hinge(), Logistic(), Huber(0.3), Huber(50.0)], ids=_name
)
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_declared_bound_is_attained_by_the_worst_record(loss, norm):
    """A bound that were twice too large would pass the search above; this one would not."""
    radius, theta_max = 1.7, 2.5
    domain = Domain(P, math.sqrt(P) * radius, radius, (-1.0, 1.0))
    x = np.full(P, radius / math.sqrt(P))
    best = 0.0
    for sign in (-1.0, 1.0):
        for y in (-1.0, 1.0):
            g = _gradient(loss, sign * theta_max * np.ones(P), x, y)
            best = max(best, np.abs(g).sum() if norm == "l1" else np.linalg.norm(g))
    assert best == pytest.approx(loss.gradient_bound(domain, theta_max, norm), rel=1e-6)


@pytest.mark.parametrize("loss", PLAIN + CLIPPED, ids=_name)
@given(a=st.floats(-5, 5), b=st.floats(-5, 5), raw_y=coordinates, scale=st.floats(0.01, 3))
@settings(max_examples=40)
def test_value_is_convex_and_slope_is_its_subgradient(loss, a, b, raw_y, scale):
    bound = loss.on(np.array([[scale, -scale / 2, 0.0]]))
    y = np.array([[_target(loss, raw_y)]])
    at_a, at_b = np.array([[a]]), np.array([[b]])
    value_a, value_b = bound.value(at_a, y)[0, 0], bound.value(at_b, y)[0, 0]
    slope = bound.slope(at_a, y)[0, 0]
    assert value_b >= value_a + slope * (b - a) - 1e-7 * (1 + abs(value_a) + abs(value_b))
    assert bound.value((at_a + at_b) / 2, y)[0, 0] <= (value_a + value_b) / 2 + 1e-7


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Huber(0.3)], ids=_name)
@given(z=st.floats(-5, 5), w=st.floats(-5, 5), raw_y=coordinates)
@settings(max_examples=60)
def test_smoothness_and_strong_convexity_hold_in_the_score(loss, z, w, raw_y):
    y = np.array(_target(loss, raw_y))
    slope_z, slope_w = loss.slope(np.array(z), y), loss.slope(np.array(w), y)
    change, apart = (slope_z - slope_w) * np.sign(z - w), abs(z - w)
    assert change <= loss.curvature_bound * apart + 1e-12


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Huber(0.3)], ids=_name)
@given(z=st.floats(-4, 4), raw_y=coordinates)
@settings(max_examples=60)
def test_curvature_is_the_derivative_of_the_slope(loss, z, raw_y):
    y = np.array(_target(loss, raw_y))
    if isinstance(loss, Huber) and abs(abs(z - float(y)) - loss.delta) < 1e-3:
        return
    numeric = Loss.curvature(loss, np.array(z), y)
    assert loss.curvature(np.array(z), y) == pytest.approx(numeric, abs=1e-6)


def test_clipped_squared_loss_is_a_huber_loss():
    """Theory §5.2: threshold C/(2‖x‖₁)."""
    x = np.array([[0.4, -0.6, 1.0]])
    limit = 0.8
    huber = Huber(limit / (2 * 2.0))
    z = np.linspace(-3, 3, 41)[None, :]
    y = np.array([[0.25]])
    clipped = Clipped(Squared(), limit, "l1").on(x)
    np.testing.assert_allclose(clipped.slope(z, y), huber.slope(z, y), atol=1e-12)
    np.testing.assert_allclose(clipped.value(z, y), huber.value(z, y), atol=1e-12)


def test_a_wide_clip_changes_nothing():
    x, y = np.array([[0.5, 0.5]]), np.array([[1.0]])
    z = np.linspace(-2, 2, 9)[None, :]
    for loss in PLAIN:
        clipped = Clipped(loss, 1e6, "l2").on(x)
        np.testing.assert_allclose(clipped.slope(z, y), loss.slope(z, y))
        np.testing.assert_allclose(clipped.value(z, y), loss.value(z, y), atol=1e-9)


def test_a_record_of_zeros_can_be_clipped():
    clipped = Clipped(Squared(), 1.0, "l1").on(np.zeros((1, 2)))
    z, y = np.array([[0.5]]), np.array([[1.0]])
    assert clipped.slope(z, y)[0, 0] == -1.0
    assert clipped.value(z, y)[0, 0] == pytest.approx(0.25)


def test_squared_loss_by_hand():
    """x = (1, 2), θ = (3, −1), y = 2: z = 1, ℓ = 1, ∇ = 2(1 − 2)x = (−2, −4)."""
    loss = Squared()
    z, y = np.array(1.0), np.array(2.0)
    assert loss.value(z, y) == 1.0
    assert loss.slope(z, y) == -2.0


def test_own_loss_plugs_in_from_its_module_path_once_it_is_permitted():
    with pytest.raises(TreatyError, match="permit it by its name if you trust it"):
        loss_named(f"{__name__}:Pinball", {"tau": 0.9})
    permit([f"{__name__}:Pinball"])
    loss = loss_named(f"{__name__}:Pinball", {"tau": 0.9})
    assert loss.slope_bound(1.0, (-1.0, 1.0)) == 0.9


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        ("square", {}, "no loss is called"),
        ("no_such_module:Loss", {}, "permit it by its name if you trust it"),
        ("huber", {"gamma": 1.0}, "does not take these parameters"),
        ("huber", {"delta": -1.0}, "must be positive"),
    ],
)
def test_a_loss_that_cannot_be_had_is_told_in_a_sentence(name, parameters, says):
    with pytest.raises(TreatyError, match=says):
        loss_named(name, parameters)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no_such_module:Loss", "cannot import no_such_module"),
        ("math:Pinball", "math has no class Pinball"),
        ("math:sin", "is not a subclass"),
        ("../math:sin", 'is written "my_losses:Pinball"'),
        ("Pinball", 'is written "my_losses:Pinball"'),
    ],
)
def test_what_cannot_be_permitted_is_told_in_a_sentence(name, says):
    with pytest.raises(TreatyError, match=says):
        permit([name])


class Broken(Pinball):
    """A user's loss whose slope is NaN for one target, infinite for another."""

    def slope(self, score, target):
        return np.where(target > 0.5, np.nan, np.where(target < -0.5, -np.inf, 0.0)) + 0 * score


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_slope_that_is_no_number_passes_no_clip(norm):
    """One record whose slope is NaN moves a clipped sum no further than any other record."""
    x = np.array([[0.5, 0.5], [0.3, -0.1], [0.0, 0.2]])
    y = np.array([1.0, -1.0, 0.0])[:, None]
    slope = Clipped(Broken(), 0.4, norm).on(x).slope(x @ np.ones((2, 1)), y)
    order = {"l1": 1, "l2": 2}[norm]
    assert np.isfinite(slope).all()
    assert (np.linalg.norm(slope * x, order, axis=1) <= 0.4 * (1 + 1e-12)).all()


def test_losses_that_differ_have_keys_that_differ():
    """Also far inside a large table of numbers, where a printed form leaves out the middle."""

    class Weighed(Squared):
        def __init__(self, weights):
            self.weights = weights

    one, other = np.ones(5000), np.ones(5000)
    other[2500] = 50.0
    assert Weighed(one).key == Weighed(one.copy()).key
    assert Weighed(one).key != Weighed(other).key
    assert Clipped(Squared(), 1.0, "l1").key != Clipped(Squared(), 1.0, "l2").key
    assert Clipped(Squared(), 1.0, "l1").key != Squared().key
