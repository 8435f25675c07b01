"""Chances of labels come true: slope and level of a model's scores, by records it has not seen."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from problems import domain
from treaty.adaptation import OwnRecords, adapting, alone
from treaty.adaptation.calibrating import calibrated
from treaty.adaptation.metrics import by_columns
from treaty.fitness import Problem, risk_of
from treaty.losses import Hinge, Logistic, Squared

P = 12
PROBLEM = Problem(Logistic(), domain(P), intercept=P - 1)
NONE = frozenset[int]()


def _rows(n, seed, *, level=-4.0, size=1.0):
    random = np.random.default_rng(seed)
    x = np.column_stack([random.standard_normal((n, P - 1)), np.ones(n)])
    theta = np.append(size * np.linspace(1.5, 0.0, P - 1), level)
    return x, np.where(x @ theta + random.logistic(size=n) > 0, 1.0, -1.0)


def _without(monkeypatch, records):
    with monkeypatch.context() as changed:
        changed.setattr(adapting, "calibrated", lambda records, theta, *rest: theta)
        return alone(records)


def _held(records, strength):
    """A model of own records with a ridge, the metric, and the scores that each part has not seen."""
    metric = by_columns(PROBLEM, records.without(NONE), np.zeros(P), "columns")
    theta = records.path(metric, NONE).exact(np.zeros(P), strength)
    unseen, labels = [], []
    for k, part in enumerate(records.rows):
        others = records.path(metric, frozenset({k})).exact(np.zeros(P), strength)
        unseen.append(records.x[part] @ others)
        labels.append(records.y[part])
    return theta, metric, np.concatenate(unseen), np.concatenate(labels)


def test_slope_and_level_are_those_of_a_logistic_regression_on_unseen_scores():
    """Of many records, so that what was believed before hardly counts; with too strong a ridge."""
    records, strength = OwnRecords(PROBLEM, *_rows(40_000, 1, level=-1.0)), 0.1
    theta, metric, unseen, labels = _held(records, strength)
    line = LogisticRegression(C=1e9, tol=1e-10).fit(unseen[:, None], labels)
    slope, level = float(line.coef_[0, 0]), float(line.intercept_[0])
    assert slope > 1.4  # the ridge held it back
    found = calibrated(records, theta, metric, strength, NONE)
    wanted = slope * theta
    wanted[-1] += level
    np.testing.assert_allclose(found, wanted, rtol=0.02, atol=0.02)


def test_of_few_records_it_is_what_was_believed_before_and_what_they_say():
    """The same minimised by another solver, from the formula: a ~ N(1, 0.3²), t ~ N(c, 1)."""
    records, strength = OwnRecords(PROBLEM, *_rows(80, 3, level=-1.0)), 0.3
    theta, metric, unseen, labels = _held(records, strength)
    centre = unseen.mean()

    def less_likely(at):
        margins = labels * (at[0] * (unseen - centre) + at[1])
        before = (at[0] - 1) ** 2 / (2 * 0.3**2) + (at[1] - centre) ** 2 / 2
        return float(np.logaddexp(0, -margins).sum() + before)

    slope, level = minimize(less_likely, [1.0, centre], method="Nelder-Mead", tol=1e-10).x
    found = calibrated(records, theta, metric, strength, NONE)
    wanted = slope * theta
    wanted[-1] += level - slope * centre
    np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-3)
    assert 0.5 < slope < 1.6


def test_a_model_whose_chances_come_true_stays():
    records = OwnRecords(PROBLEM, *_rows(20_000, 2, level=-1.0))
    theta, metric, _, _ = _held(records, 1e-3)
    found = calibrated(records, theta, metric, 1e-3, NONE)
    np.testing.assert_allclose(found, theta, atol=0.03 * np.abs(theta).max())


def test_a_model_that_goes_by_nothing_is_no_more_than_a_level():
    """Labels that have nothing to do with the columns: the slope falls, and never below 0."""
    x, _ = _rows(400, 4)
    labels = np.where(np.random.default_rng(9).random(400) < 0.2, 1.0, -1.0)
    records = OwnRecords(PROBLEM, x, labels)
    theta, metric, _, _ = _held(records, 1e-2)
    found = calibrated(records, theta, metric, 1e-2, NONE)
    slope = float(found[0] / theta[0])
    assert 0.0 <= slope < 0.5
    assert 1 / (1 + math.exp(-found[-1])) == pytest.approx(np.mean(labels > 0), abs=0.05)


def test_where_a_label_is_rare_models_get_better(monkeypatch):
    """On fresh rows, over many draws of 600 rows with some 20 of the rarer label."""
    later = risk_of(Logistic(), *_rows(40_000, 999, level=-6.0))
    saved = []
    for seed in range(120):
        records = OwnRecords(PROBLEM, *_rows(600, seed, level=-6.0))
        plain = _without(monkeypatch, records)
        saved.append(float(later.value(plain.theta)) - float(later.value(alone(records).theta)))
    assert np.mean(saved) > 2 * np.std(saved, ddof=1) / math.sqrt(len(saved))


def test_parts_that_are_left_out_are_not_seen():
    x, y = _rows(300, 5, level=-1.0)
    changed = y.copy()
    one = OwnRecords(PROBLEM, x, y)
    changed[one.rows[2]] *= -1.0
    two = OwnRecords(PROBLEM, x, changed)
    hidden = frozenset({2})
    np.testing.assert_array_equal(alone(one, hidden).theta, alone(two, hidden).theta)
    assert not np.array_equal(alone(one).theta, alone(two).theta)


@pytest.mark.parametrize("loss", [Squared(), Hinge()], ids=lambda loss: loss.name)
def test_only_chances_are_calibrated(loss, monkeypatch):
    x, y = _rows(200, 6, level=-1.0)
    records = OwnRecords(Problem(loss, domain(P), intercept=P - 1), x, y)
    np.testing.assert_array_equal(alone(records).theta, _without(monkeypatch, records).theta)
