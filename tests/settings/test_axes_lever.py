"""Whole gradients or a few axes of them: what a plan chooses, and whether new records bear it out."""

import numpy as np
import polars as pl
import pytest

from treaty.records import FrameSource
from treaty.settings import plan
from treaty.settings.expecting import Judge
from treaty.settings.writing import planned_text
from treaty.simulation import simulated_models
from treaty.terms import encoder_of, loads, plan_of

COLUMNS = [f"v{i}" for i in range(16)]
TEXT = (
    "version = 1\n"
    + "".join(f'[features.{name}]\nkind = "number"\nbounds = [-1, 1]\n' for name in COLUMNS)
    + """
[target]
column = "y"
labels = ["no", "yes"]
[loss]
name = "logistic"
theta_max = 5.0
clip = 1.0
[training]
method = "averaged-subgradient"
horizon = 20
[[parties]]
name = "one"
records = 4000
epsilon = EPSILON
[[parties]]
name = "two"
records = 6000
epsilon = EPSILON
"""
)
KEEP = frozenset({"knots", "bounds"})


def _rows(n: int, seed: int) -> pl.DataFrame:
    """Sixteen columns that two things are behind."""
    random = np.random.default_rng(seed)
    behind = random.standard_normal((n, 2))
    mix = 0.2 * np.random.default_rng(7).standard_normal((2, len(COLUMNS)))
    x = np.clip(behind @ mix + 0.05 * random.standard_normal((n, len(COLUMNS))), -1, 1)
    score = behind @ np.array([1.5, -1.0]) - 2.0
    label = np.where(score + random.logistic(size=n) > 0, "yes", "no")
    return pl.DataFrame({**dict(zip(COLUMNS, x.T, strict=True)), "y": label})


def _loss_of_training(found, judge: Judge, seed: int) -> float:
    settled, surveyed = judge.in_place(found.treaty), judge.surveyed(found.treaty)
    ready, encoder = plan_of(settled).informed_by(surveyed), encoder_of(settled)
    risks = {
        party.name: encoder.risk(
            ready.problem.loss, FrameSource(_rows(party.records, 100 * seed + party.records))
        )[0]
        for party in ready.parties
    }
    models = simulated_models(ready, risks, runs=10, seed=seed)
    later = _rows(20_000, 999)
    labels = np.where(later["y"].to_numpy() == "yes", 1.0, -1.0)
    return float(np.mean(np.logaddexp(0, -labels[:, None] * (encoder.x(later) @ models.T))))


@pytest.mark.parametrize(("epsilon", "fewer"), [(0.3, True), (5.0, False)])
def test_a_few_axes_are_asked_for_where_noise_decides_and_that_is_better(epsilon, fewer):
    draft = loads(TEXT.replace("EPSILON", str(epsilon)))
    few, whole = [], []
    for seed in range(3):
        public = _rows(250, seed)
        judge = Judge(FrameSource(public), [*COLUMNS, "y"])
        *_, found = plan(draft, public, keep=KEEP)
        *_, kept = plan(draft, public, keep=KEEP | {"axes"})
        assert (found.treaty.training.axes is not None) == fewer
        assert kept.treaty.training.axes is None
        if fewer:
            few.append(_loss_of_training(found, judge, seed))
            whole.append(_loss_of_training(kept, judge, seed))
            assert found.expected.gain > kept.expected.gain
    if fewer:
        assert np.mean(few) < np.mean(whole)


def test_a_plan_with_axes_says_so_and_can_be_read():
    public = _rows(250, 0)
    *_, found = plan(loads(TEXT.replace("EPSILON", "0.1")), public, keep=KEEP)
    judge = Judge(FrameSource(public), [*COLUMNS, "y"])
    axes = found.treaty.training.axes
    text = planned_text(found, found.expected, judge.in_place(found.treaty), len(public))
    assert f"axes = {axes}  # along {axes} axes: expected log loss" in text
    assert "whole gradients" in text
