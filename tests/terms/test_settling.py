"""What public rows have settled stands in the treaty, in whatever way it is written."""

import numpy as np
import polars as pl
import pytest

from treaty.records import FrameSource
from treaty.terms import dumps, fit, loads
from treaty.terms.settling import settled_text

SPREAD = """\
version = 1
title = "t"

[features."the age"]  # in years
kind = "hats"
bounds = [0, 100]
quantiles = 4           # of the public rows

[features.gain]
kind = "hats"
bounds = [-1, 1]
quantiles = 3
[target]
column = "fraud"
labels = ["no", "yes"]

[dictionary]
standardise = "frequency"

[loss]
name = "logistic"
class_weights = "balanced" # by frequency
clip = 1.0

[training]
method = "blended-step"
horizon = 1

[[parties]]
name = "a"
records = 100
epsilon = 1.0
"""


def _rows():
    random = np.random.default_rng(0)
    return FrameSource(
        pl.DataFrame(
            {
                "the age": random.uniform(0, 100, 200),
                "gain": random.uniform(-1, 1, 200),
                "fraud": ["yes"] * 20 + ["no"] * 180,
            }
        )
    )


def test_lines_are_replaced_and_comments_stay():
    settled = fit(loads(SPREAD), _rows())
    text = settled_text(SPREAD, settled)
    assert loads(text) == settled.model_copy(update={"fitted": None})
    assert text.count("knots = [") == 2
    assert "balanced" not in text
    assert "quantiles =" not in text
    for comment in ("# in years", "# of the public rows", "# by frequency"):
        assert comment in text
    assert settled_text(text, settled) == text


@pytest.mark.parametrize("way", ["in one line", "as written by the program"])
def test_a_treaty_that_is_written_otherwise_is_written_anew(way):
    text = dumps(loads(SPREAD))
    if way == "in one line":
        text = SPREAD.replace(
            '[features.gain]\nkind = "hats"\nbounds = [-1, 1]\nquantiles = 3\n', ""
        ).replace(
            "[target]",
            '[features]\ngain = {kind = "hats", bounds = [-1, 1], quantiles = 3}\n[target]',
        )
    settled = fit(loads(text), _rows())
    assert loads(settled_text(text, settled)) == settled.model_copy(update={"fitted": None})
