"""Bad settings are told from a bad collaboration, and the line to change is the right one."""

import numpy as np
import polars as pl
import pytest

from treaty.records import FrameSource
from treaty.settings.diagnosing import Diagnosis, diagnosis
from treaty.settings.expected import Expected
from treaty.settings.expecting import Judge
from treaty.settings.levers import under, with_best_clip
from treaty.terms import loads

TEXT = """
version = 1
[features.a]
kind = "number"
bounds = [-1, 1]
[features.b]
kind = "number"
bounds = [-1, 1]
[target]
column = "y"
bounds = [-10, 10]
unit = "days"
[dictionary]
standardise = "bounds"
norm = "l1"
[loss]
name = "squared"
clip = 1.0
ridge = 1e-4
theta_max = 5.0
[training]
method = "averaged-subgradient"
horizon = 20
[[parties]]
name = "one"
records = RECORDS
epsilon = 1.0
[[parties]]
name = "two"
records = RECORDS
epsilon = 1.0
"""


def _draft(records=5000, **replaced):
    text = TEXT.replace("RECORDS", str(records))
    for old, new in replaced.items():
        text = text.replace(old, new)
    return loads(text)


def _judge(n=300, noise=1.0):
    random = np.random.default_rng(0)
    a, b = random.uniform(-1, 1, (2, n))
    y = 4 * a - 3 * b + noise * random.standard_normal(n)
    return Judge(FrameSource(pl.DataFrame({"a": a, "b": b, "y": y})), ["a", "b", "y"])


def _lines(found):
    return {(change.line, change.words.split(" ")[0]) for change in found.changes}


def test_a_method_that_does_not_get_there_is_named():
    found = diagnosis(_draft(), _judge())
    assert found.told.error > 1.1 * found.planned.error
    assert "[training]" in {change.line for change in found.changes}
    assert found.changes[0].error == min(change.error for change in found.changes)
    errors = [change.error for change in found.changes]
    assert errors == sorted(errors)
    assert "The settings are bad, but" in found.words  # 300 public rows know as much
    few = _judge(60)
    assert "It is the settings" in diagnosis(_draft(200_000), few).words


def _good(judge):
    treaty = under(_draft(200_000), "blended-step", 1)
    return with_best_clip(treaty, judge)[0]


def test_good_settings_need_no_change():
    judge = _judge(60)
    found = diagnosis(_good(judge), judge)
    assert not found.changes
    assert "settings are good" in found.words


@pytest.mark.parametrize(
    ("line", "key", "update"),
    [
        ("[loss]", "clip", {"loss": {"clip": 0.003}}),
        ("[loss]", "theta_max", {"loss": {"theta_max": 0.1}}),
        ("[features.a]", "bounds", {"features": {"a": {"bounds": (-0.2, 0.2)}}}),
        ("[target]", "bounds", {"target": {"bounds": (-1.0, 1.0)}}),
    ],
)
def test_one_bad_line_is_the_one_that_is_named(line, key, update):
    judge = _judge(60)
    treaty = _good(judge)
    for section, values in update.items():
        part = getattr(treaty, section)
        if section == "features":
            changed = {**part, **{n: part[n].model_copy(update=v) for n, v in values.items()}}
        else:
            changed = part.model_copy(update=values)
        treaty = treaty.model_copy(update={section: changed})
    found = diagnosis(treaty, judge)
    assert (line, key) in _lines(found)
    assert found.planned.error < 0.99 * found.told.error


def test_a_collaboration_that_cannot_pay_is_told_so():
    """Plenty of public rows, few records at a small budget."""
    judge = _judge(3000)
    treaty = with_best_clip(under(_draft(50), "blended-step", 1), judge)[0]
    assert "It is not the settings" in diagnosis(treaty, judge).words


def test_a_treaty_that_pays_is_not_told_that_it_does_not():
    """What is tried beside it is where a plan begins, which may be worse than the treaty itself."""
    public = np.full(100, 4.0)
    told, begun = Expected(public, 0.2, False), Expected(public, 0.01, False)
    assert "The settings are good" in Diagnosis(told, (), begun).words
    assert "does not pay" in Diagnosis(begun, (), begun).words
    assert "It is the settings" in Diagnosis(begun, (), told).words


def test_an_interval_by_hand():
    """100 squared errors of 9 or 16, less a gain of a half."""
    told = Expected(np.array([9.0, 16.0] * 50), 0.5, False)
    off = 1.645 * np.std([9.0, 16.0] * 50, ddof=1) / 10
    assert told.interval == pytest.approx((np.sqrt(12 - off), np.sqrt(12 + off)))
