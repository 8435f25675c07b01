"""Estimators in the manner of scikit-learn: its own checks, and what is ours."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import treaty as t
from treaty.errors import TreatyError


@parametrize_with_checks(
    [
        t.TreatyRegressor(math.inf, bounds=(-200, 200), target_bounds=(-1000, 1000)),
        t.TreatyClassifier(math.inf, bounds=(-200, 200)),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    """Without noise, which these do not expect.

    scikit-learn leaves out two by itself: check_pipeline_consistency, for estimators that are not
    deterministic, and check_array_api_input, without SCIPY_ARRAY_API.
    """
    check(estimator)


def _rows(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {"age": random.uniform(20, 90, n), "ward": random.choice(["A", "B", "C"], n)}
    )
    stay = 0.1 * rows["age"] + 3.0 * (rows["ward"] == "B") + random.standard_normal(n)
    return rows, stay.to_numpy(), random.choice(["north", "south"], n)


def test_numbers_across_groups_with_public_rows():
    X, y, groups = _rows(8000, 0)
    X_public, y_public, _ = _rows(60, 1)
    model = t.TreatyRegressor(1.0, effort=5)
    model.fit(X, y, groups=groups, X_public=X_public, y_public=y_public)
    later, truth, _ = _rows(2000, 2)
    pooled = LinearRegression().fit(pd.get_dummies(X), y)
    assert model.score(later, truth) > pooled.score(pd.get_dummies(later), truth) - 0.02
    assert model.score(later, truth) == pytest.approx(r2_score(truth, model.predict(later)))
    assert model.trained_together_
    assert model.spent_ == pytest.approx({"north": 1.0, "south": 1.0})
    assert {party.name for party in model.treaty_.parties} == {"north", "south"}
    assert model.model_.coefficients["age"] == pytest.approx(0.1, abs=0.03)


def test_nothing_is_spent_where_the_public_rows_are_as_good():
    X, y, _ = _rows(100, 0)
    X_public, y_public, _ = _rows(3000, 1)
    model = t.TreatyRegressor(0.01, effort=5).fit(X, y, X_public=X_public, y_public=y_public)
    assert not model.trained_together_
    assert model.spent_ == {"everybody": 0.0}
    assert model.score(X, y) > 0.5


def test_labels_across_groups_with_public_rows():
    X, y, groups = _rows(6000, 3)
    X_public, y_public, _ = _rows(300, 4)
    long, long_public = (np.where(each > 7, "long", "short") for each in (y, y_public))
    model = t.TreatyClassifier({"north": 1.0, "south": 0.5}, effort=5)
    model.fit(X, long, groups=groups, X_public=X_public, y_public=long_public)
    later, truth, _ = _rows(2000, 5)
    truth = np.where(truth > 7, "long", "short")
    pooled = LogisticRegression(max_iter=1000).fit(pd.get_dummies(X), long)
    assert model.score(later, truth) > pooled.score(pd.get_dummies(later), truth) - 0.03
    assert model.classes_.tolist() == ["long", "short"]
    assert model.predict_proba(later).sum(axis=1) == pytest.approx(np.ones(2000))
    if model.trained_together_:
        assert model.spent_ == pytest.approx({"north": 1.0, "south": 0.5})


def test_it_goes_into_a_pipeline_and_cross_validation():
    random = np.random.default_rng(6)
    X = random.standard_normal((600, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.1 * random.standard_normal(600)
    model = t.TreatyRegressor(1e4, bounds=(-4, 4), target_bounds=(-12, 12))
    assert cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=3).mean() > 0.9


@pytest.mark.parametrize(
    ("model", "given", "says"),
    [
        (t.TreatyRegressor(), {}, "nothing may be read off private records"),
        (t.TreatyClassifier(), {}, "nothing may be read off private records"),
        (t.TreatyClassifier({"x": 1.0}, bounds=(0, 1)), {}, "no budget for the group everybody"),
        (
            t.TreatyClassifier(bounds=(0, 1)),
            {"groups": ["a"]},
            "groups has 1 entries, and X has 40",
        ),
    ],
)
def test_what_is_missing_is_said(model, given, says):
    random = np.random.default_rng(7)
    with pytest.raises((TreatyError, ValueError), match=says):
        model.fit(random.random((40, 2)), np.arange(40) % 2, **given)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"y": [math.nan, 2.0]}, "y: entry 0 is missing"),
        ({"y_public": [1.0, math.nan]}, "y_public: entry 1 is missing"),
        ({"groups": ["north", None]}, "groups: entry 1 is missing: say whose every record is"),
        ({"groups": [math.nan, 1.0]}, "groups: entry 0 is missing"),
        ({"X_public": pd.DataFrame({"aeg": [1.0, 2.0]})}, "X_public has no column 'age'"),
    ],
)
def test_what_is_missing_is_told_before_anything_is_planned(change, says):
    rows = pd.DataFrame({"age": [30.0, 40.0]})
    given = {"y": [1.0, 2.0], "groups": ["a", "b"], "X_public": rows, "y_public": [1.0, 2.0]}
    given |= change
    with pytest.raises(ValueError, match=says):
        t.TreatyRegressor(1.0).fit(rows, given.pop("y"), **given)


def test_a_budget_that_is_none_is_told_in_a_sentence():
    with pytest.raises(TreatyError, match="epsilon must be above 0, not -1"):
        t.TreatyRegressor(-1.0, bounds=(0, 1), target_bounds=(0, 1)).fit([[0.0], [1.0]], [0.0, 1.0])


def test_mistakes_are_answered_with_a_remedy():
    x, y = np.random.default_rng(0).uniform(size=(60, 2)), np.arange(60) % 2
    who = np.array(["a", "b"], dtype=object)[np.arange(60) % 2]
    gone = who.copy()
    gone[7] = math.nan
    words = np.array(["no", "yes"], dtype=object)[y]
    unknown = words.copy()
    unknown[3] = None
    model = t.TreatyClassifier(bounds=(0, 1))
    with pytest.raises(ValueError, match="groups: entry 7 is missing: say whose every record is"):
        model.fit(x, y, groups=gone)
    with pytest.raises(ValueError, match="y: entry 3 is missing"):
        model.fit(pd.DataFrame(x, columns=["a", "b"]), unknown, groups=who)
    with pytest.raises(
        ValueError, match=r"'Yes' is in the public rows alone; y holds 'no' and 'yes'"
    ):
        model.fit(x, words, X_public=x, y_public=np.array(["no", "Yes"])[y])
    for given in ({"X_public": x}, {"y_public": y}):
        with pytest.raises(ValueError, match="public rows have features and targets"):
            model.fit(x, y, **given)
    numbers = t.TreatyRegressor(bounds=(0, 1), target_bounds=(0, 1))
    with pytest.raises(NotFittedError):
        numbers.predict(pd.DataFrame(x, columns=["a", "b"]))
    with pytest.raises(ValueError, match="for labels of two kinds use TreatyClassifier"):
        numbers.fit(pd.DataFrame(x, columns=["a", "b"]), np.array(["no", "yes"])[y])
