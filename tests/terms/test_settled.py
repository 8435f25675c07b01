"""What public rows decide about a treaty: knots and class weights; and fingerprints that stay."""

import math

import numpy as np
import polars as pl
import pytest

import treaty as t
from treaty.errors import TreatyError
from treaty.losses import Clipped, Weighted
from treaty.questions import MeanGradient
from treaty.terms import canonical, fit, loads, plan_of, problem_of

TREATY = """
version = 1
[features.a]
kind = "number"
bounds = [-1, 1]
[target]
column = "fraud"
labels = ["no", "yes"]
[loss]
name = "logistic"
theta_max = 2.0
WEIGHTS
[training]
method = "averaged-subgradient"
horizon = 3
[[parties]]
name = "one"
records = 100
epsilon = 1.0
"""


def _with(weights: str) -> t.Treaty:
    return loads(TREATY.replace("WEIGHTS", weights))


def _public(frauds: int, n: int = 100) -> pl.DataFrame:
    random = np.random.default_rng(0)
    return pl.DataFrame(
        {"a": random.uniform(-1, 1, n), "fraud": ["yes"] * frauds + ["no"] * (n - frauds)}
    )


def test_weights_by_hand_raise_every_bound_by_the_larger_one():
    plain, heavy = (fit(_with(text), None) for text in ("", "class_weights = {yes = 50}"))
    one, fifty = problem_of(plain), problem_of(heavy)
    assert isinstance(fifty.loss, Weighted)
    assert fifty.gradient_bound("l1") == pytest.approx(50 * one.gradient_bound("l1"))
    assert MeanGradient.sensitivity(fifty, 100, "l1") == pytest.approx(
        50 * MeanGradient.sensitivity(one, 100, "l1")
    )
    clipped = problem_of(fit(_with("class_weights = {yes = 50}\nclip = 1.0"), None))
    assert isinstance(clipped.loss, Clipped)
    assert clipped.gradient_bound("l1") == 1.0


def test_balanced_weights_are_those_of_scikit_learn_and_public():
    settled = fit(_with('class_weights = "balanced"'), _public(4))
    assert settled.loss.class_weights == {"no": 100 / (2 * 96), "yes": 100 / (2 * 4)}
    assert plan_of(settled).problem.gradient_bound("l1") > 0
    with pytest.raises(TreatyError, match="balanced weights are counted on public rows"):
        fit(_with('class_weights = "balanced"'), None)
    with pytest.raises(TreatyError, match="no public row has the label yes"):
        fit(_with('class_weights = "balanced"'), _public(0))


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ("class_weights = {maybe = 2}", "there is no label maybe; there are no and yes"),
        ("class_weights = {yes = 0}", "class_weights.yes must lie between"),
        ('class_weights = "heavy"', "class_weights"),
    ],
)
def test_senseless_weights_are_told(weights, says):
    with pytest.raises(TreatyError, match=says):
        problem_of(fit(_with(weights), None))


def test_probabilities_are_those_of_the_records_as_they_come():
    """A model trained with weights 1 to 20 says how often frauds happen, not 20 times as often."""
    random = np.random.default_rng(1)
    n = 20_000
    a = random.uniform(-1, 1, n)
    fraud = random.random(n) < 1 / (1 + np.exp(3 - 2 * a))
    frame = pl.DataFrame({"a": a, "fraud": np.where(fraud, "yes", "no")})
    text = TREATY.replace("records = 100", f"records = {n}").replace(
        "epsilon = 1.0", "epsilon = inf"
    )
    text = text.replace("horizon = 3", "horizon = 400").replace(
        "theta_max = 2.0", "theta_max = 5.0"
    )
    document = loads(text.replace("WEIGHTS", "class_weights = {yes = 20}"))
    model = t.train(t.assemble(document, {"one": frame})).model
    chance = model.to_sklearn().predict_proba(frame)[:, 1]
    assert 0.7 * fraud.mean() < chance.mean() < 1.3 * fraud.mean()
    assert model.shift == pytest.approx(math.log(20))


def test_treaties_keep_the_fingerprints_they_were_ratified_under():
    plain = canonical(_with(""))
    for later in ("unit", "label", "class_weights"):
        assert later not in plain.replace('"labels"', "")
    named = _with("").model_copy(
        update={"target": _with("").target.model_copy(update={"unit": "cases"})}
    )
    assert t.fingerprint(named) != t.fingerprint(_with(""))


def test_a_unit_that_is_no_text_is_told():
    with pytest.raises(TreatyError, match=r"target\.unit: must be a text, not 5"):
        loads(TREATY.replace("WEIGHTS", "").replace('labels = ["no", "yes"]', "unit = 5"))


def test_knots_are_not_placed_without_the_rows_that_place_them():
    hats = TREATY.replace('kind = "number"', 'kind = "hats"\nquantiles = 4').replace("WEIGHTS", "")
    with pytest.raises(TreatyError, match='the knots of column "a" are placed on public rows'):
        fit(loads(hats), None)
    placed = fit(loads(hats), _public(4)).features["a"]
    assert placed.knots is not None
    assert len(placed.knots) == 4
