"""Adapted models: as good as the better of the owner's own and the shared one; nothing is peeked at."""

import numpy as np
import pytest

from problems import domain
from treaty.adaptation import OwnRecords, adapt, alone, in_predictions
from treaty.errors import TreatyError
from treaty.fitness import Problem, risk_of
from treaty.losses import Hinge, Huber, Logistic, Loss, Squared

P = 8


def _rows(n: int, theta: np.ndarray, seed: int, *, labels: bool = False):
    random = np.random.default_rng(seed)
    x = np.column_stack([random.standard_normal((n, P - 1)), np.ones(n)])
    score = x @ theta
    if labels:
        return x, np.where(score + random.logistic(size=n) > 0, 1.0, -1.0)
    return x, score + 0.5 * random.standard_normal(n)


def _problem(loss: Loss) -> Problem:
    return Problem(loss, domain(P), intercept=P - 1)


def _judged(loss: Loss, n: int, off: float, seed: int) -> tuple[float, float, float]:
    """Return the error, out of sample, of the adapted model, the own one and the shared one."""
    random = np.random.default_rng(seed)
    truth = random.standard_normal(P)
    shared = truth + off * random.standard_normal(P) / np.sqrt(P)
    problem = _problem(loss)
    x, y = _rows(n, truth, seed, labels=loss.labels)
    own = OwnRecords(problem, x, y)
    public = risk_of(loss, *_rows(200, shared, seed + 1, labels=loss.labels))
    model = adapt(own, shared[None], in_predictions(problem, public, shared))[0]
    far = risk_of(loss, *_rows(20_000, truth, seed + 2, labels=loss.labels))
    return tuple(float(far.value(theta)) for theta in (model.theta, alone(own).theta, shared))


@pytest.mark.parametrize(
    "loss", [Squared(), Logistic(), Huber(0.5), Hinge()], ids=lambda loss: loss.name
)
@pytest.mark.parametrize(("n", "off"), [(20, 0.05), (20, 3.0), (60, 0.5), (600, 0.3), (600, 3.0)])
def test_never_worse_than_the_better_of_own_and_shared_beyond_chance(loss, n, off):
    cases = 4 if loss.name == "hinge" else 12
    each = np.array([_judged(loss, n, off, 100 * seed) for seed in range(cases)])
    adapted, own, shared = each.mean(axis=0)
    chance = (each[:, 0] - each[:, 1:].min(axis=1)).std(ddof=1) / np.sqrt(cases)
    assert adapted <= min(own, shared) + 2 * chance + 0.02 * min(own, shared)


def test_few_records_get_the_shared_model_and_many_their_own():
    truth = np.linspace(-1, 1, P)
    problem = _problem(Squared())
    shared = truth + 0.02
    public = risk_of(Squared(), *_rows(500, shared, 1))
    metrics = in_predictions(problem, public, shared)
    few = adapt(OwnRecords(problem, *_rows(20, truth, 2)), shared[None], metrics)[0]
    assert few.strength > 1
    x, y = _rows(100_000, truth, 3)
    many = adapt(OwnRecords(problem, x, y), shared[None] + 1.0, metrics)[0]
    np.testing.assert_allclose(many.theta, np.linalg.lstsq(x, y, rcond=None)[0], atol=0.01)


def test_what_is_left_out_is_not_seen():
    """Other targets in a part that is left out change nothing, not even in the last bit."""
    problem, truth = _problem(Squared()), np.linspace(-1, 1, P)
    x, y = _rows(100, truth, 5)
    public = risk_of(Squared(), *_rows(100, truth, 6))
    metrics = in_predictions(problem, public, truth)
    one = OwnRecords(problem, x, y)
    changed = y.copy()
    changed[one.rows[2]] += 100.0
    two = OwnRecords(problem, x, changed)
    hidden = frozenset({2})
    for first, second in (
        (adapt(one, truth[None], metrics, hidden)[0], adapt(two, truth[None], metrics, hidden)[0]),
        (alone(one, hidden), alone(two, hidden)),
    ):
        np.testing.assert_array_equal(first.theta, second.theta)
        assert first.score == second.score
    assert adapt(one, truth[None], metrics)[0].score != adapt(two, truth[None], metrics)[0].score


def test_many_anchors_are_adapted_as_each_alone():
    problem, truth = _problem(Squared()), np.linspace(-1, 1, P)
    own = OwnRecords(problem, *_rows(80, truth, 7))
    public = risk_of(Squared(), *_rows(100, truth, 8))
    metrics = in_predictions(problem, public, truth)
    anchors = np.stack([truth, truth + 1.0, np.zeros(P)])
    for anchor, model in zip(anchors, adapt(own, anchors, metrics), strict=True):
        np.testing.assert_allclose(model.theta, adapt(own, anchor[None], metrics)[0].theta)


def test_too_few_records_are_told():
    x, y = _rows(6, np.zeros(P), 0)
    with pytest.raises(TreatyError, match="6 records are too few"):
        OwnRecords(_problem(Squared()), x, y)


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=lambda loss: loss.name)
def test_a_shared_model_that_is_far_off_does_not_take_the_public_one_away(loss):
    truth = np.linspace(-1, 1, P)
    problem = _problem(loss)
    public = truth + 0.02
    metrics = in_predictions(
        problem, risk_of(loss, *_rows(500, public, 1, labels=loss.labels)), public
    )
    own = OwnRecords(problem, *_rows(30, truth, 2, labels=loss.labels))
    far = np.array([truth + 5.0, truth + 0.01])
    without, near = adapt(own, far, metrics, public=public)
    assert without.near == "public"
    assert np.allclose(without.theta, adapt(own, public[None], metrics)[0].theta)
    assert near.near in ("shared", "public")
    assert adapt(own, far[:1], metrics)[0].near == "nothing"
