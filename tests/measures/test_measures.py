"""Measures against scikit-learn, and intervals against what they promise."""

import math

import numpy as np
import pytest
from sklearn import metrics

from treaty.measures import MEASURES, Comparison, Errors, Estimate, main_measure, measures_for


def test_numbers_as_scikit_learn_measures_them():
    random = np.random.default_rng(0)
    truth, said = random.normal(10, 3, 500), random.normal(10, 3, 500)
    assert MEASURES["rmse"].of(truth, said) == pytest.approx(
        metrics.root_mean_squared_error(truth, said)
    )
    assert MEASURES["mae"].of(truth, said) == pytest.approx(
        metrics.mean_absolute_error(truth, said)
    )
    assert MEASURES["r2"].of(truth, said) == pytest.approx(metrics.r2_score(truth, said))


def test_labels_as_scikit_learn_measures_them():
    random = np.random.default_rng(1)
    truth = np.where(random.random(400) < 0.1, 1.0, -1.0)
    odds = random.standard_normal(400) + truth
    chance = 1 / (1 + np.exp(-odds))
    assert MEASURES["log_loss"].of(truth, odds) == pytest.approx(
        metrics.log_loss(truth > 0, chance)
    )
    assert MEASURES["auc"].of(truth, odds) == pytest.approx(metrics.roc_auc_score(truth > 0, odds))
    assert MEASURES["average_precision"].of(truth, odds) == pytest.approx(
        metrics.average_precision_score(truth > 0, odds)
    )
    assert MEASURES["error_rate"].of(truth, odds) == pytest.approx(
        1 - metrics.accuracy_score(truth > 0, odds > 0)
    )


def test_what_one_class_cannot_tell_is_not_a_number():
    truth = np.ones(10)
    assert math.isnan(MEASURES["auc"].of(truth, np.arange(10.0)))
    assert math.isnan(MEASURES["average_precision"].of(truth, np.arange(10.0)))
    assert math.isnan(MEASURES["r2"].of(truth, np.arange(10.0)))


def test_the_measure_that_decides():
    assert main_measure(labels=False).name == "rmse"
    assert main_measure(labels=True, probabilities=True).name == "log_loss"
    assert main_measure(labels=True).name == "auc"
    assert [m.name for m in measures_for(labels=True)] == ["auc", "average_precision", "error_rate"]


@pytest.mark.parametrize("next_records", [None, 150])
def test_intervals_hold_what_they_promise(next_records):
    """Of the error in the long run, or of that on so many further records."""
    held = of_gain = of_lasting = 0
    cases = 300
    for seed in range(cases):
        random = np.random.default_rng(seed)
        truth, noise = random.normal(0, 1, 150), random.normal(0, 0.3, 150)
        compared = Comparison(truth, {"a": 0 * truth, "b": 0.3 * truth + noise}, next_records)
        error = compared.errors("a", measures_for(labels=False)).rmse
        gain = compared.gain("b", "a", MEASURES["rmse"])
        lasting = compared.gain("b", "a", MEASURES["rmse"], in_the_long_run=True)
        true_error, true_gain = 1.0, 1 - math.sqrt(0.7**2 + 0.09)
        if next_records is not None:
            later = random.normal(0, 1, next_records)
            true_error = math.sqrt(np.mean(later**2))
            missed = 0.7 * later - random.normal(0, 0.3, next_records)
            of_lasting += lasting.low <= true_gain <= lasting.high
            true_gain = 1 - math.sqrt(np.mean(missed**2)) / true_error
        held += error.low <= true_error <= error.high
        of_gain += gain.low <= true_gain <= gain.high
    assert 0.85 <= held / cases <= 0.96
    assert 0.85 <= of_gain / cases <= 0.96
    if next_records is not None:
        assert 0.85 <= of_lasting / cases <= 0.96


def test_a_gain_where_higher_is_better_is_of_what_is_missing():
    random = np.random.default_rng(2)
    truth = np.where(random.random(4000) < 0.5, 1.0, -1.0)
    weak, strong = truth + 2 * random.standard_normal(4000), truth + random.standard_normal(4000)
    gain = Comparison(truth, {"weak": weak, "strong": strong}).gain(
        "strong", "weak", MEASURES["auc"]
    )
    missing = 1 - metrics.roc_auc_score(truth > 0, strong)
    assert gain.value == pytest.approx(1 - missing / (1 - metrics.roc_auc_score(truth > 0, weak)))
    assert gain.low > 0


def test_errors_by_name():
    errors = Errors({"rmse": Estimate(1.0, 0.5, 2.0)})
    assert errors.rmse.value == 1.0
    assert errors.plain() == {"rmse": {"value": 1.0, "low": 0.5, "high": 2.0}}
    with pytest.raises(AttributeError, match="no measure is called auc; there are rmse"):
        _ = errors.auc
