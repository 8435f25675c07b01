"""What is probably not meant is said before anything is computed."""

import numpy as np
import polars as pl
import pytest

from treaty.plans.waste import expected_answers, unused, waste
from treaty.records import FrameSource
from treaty.terms import fit, loads, plan_of
from treaty.training.doubts import counted, doubts

TEXT = """
version = 1
[features.age]
kind = "number"
bounds = [0, 100]
[features.beds]
kind = "number"
bounds = [0, 1000]
[features.ward]
kind = "one-hot"
categories = ["A", "B"]
[target]
column = "stay"
bounds = [0, 20]
[loss]
name = "squared"
theta_max = 2
ridge = 1e-5
clip = 1.0
[training]
method = "METHOD"
horizon = 40
[[parties]]
name = "north"
records = 100
epsilon = 1
[[parties]]
name = "south"
records = 100
epsilon = 1
"""


def _document(method: str = "blended-step", **changes: str):
    text = TEXT.replace("METHOD", method)
    for old, new in changes.items():
        text = text.replace(old, new)
    return loads(text)


def _rows(seed: int, **columns) -> FrameSource:
    random = np.random.default_rng(seed)
    age = random.uniform(0, 100, 100)
    frame = {
        "age": age,
        "beds": random.integers(0, 1000, 100),
        "ward": random.choice(["A", "B"], 100),
        "stay": 0.1 * age + random.uniform(0, 1, 100),
    }
    return FrameSource(pl.DataFrame({**frame, **columns}))


def test_sound_records_raise_no_doubt():
    assert doubts(_document(), {"north": _rows(0), "south": _rows(1)}) == []


def test_columns_that_say_whose_a_record_is():
    found = doubts(
        _document(), {"north": _rows(0, beds=[5] * 100), "south": _rows(1, beds=[9] * 100)}
    )
    assert found == ["beds is another value for every owner: it says whose a record is"]
    three = {f"o{i}": _rows(i, beds=[i // 2] * 100) for i in range(3)}
    assert doubts(_document(), three) == [
        "beds is one value within each owner: what it does cannot be told from who they are"
    ]


def test_categories_that_are_written_otherwise():
    found = doubts(
        _document(), {"north": _rows(0, ward=["a"] * 50 + ["b"] * 50), "south": _rows(1)}
    )
    assert found == [
        "ward: the treaty's categories know none of the values of north: are they written as in the "
        "treaty, such as 'A'?"
    ]


def test_a_label_that_is_always_the_same():
    text = TEXT.replace("METHOD", "blended-step").replace(
        "bounds = [0, 20]", 'labels = ["no", "yes"]'
    )
    document = loads(text.replace('"squared"', '"logistic"'))
    found = doubts(document, {"north": _rows(0, stay=["no"] * 100)})
    assert found == [
        "stay is the same label in 100% of 100 records: nothing can be learnt about the other; gather "
        "more of these, or predict something else"
    ]


def test_an_owner_whose_label_is_always_the_same():
    text = TEXT.replace("METHOD", "blended-step").replace(
        "bounds = [0, 20]", 'labels = ["no", "yes"]'
    )
    document = loads(text.replace('"squared"', '"logistic"'))
    mixed = np.where(np.arange(100) % 3 == 0, "yes", "no")
    age = 50.0 + 30.0 * (mixed == "yes")
    found = doubts(
        document, {"north": _rows(0, stay=mixed, age=age), "south": _rows(1, stay=["no"] * 100)}
    )
    assert found == [
        "stay is the same label in all records of south: is it written as in the treaty?"
    ]


def test_a_rare_label_that_a_column_tells_a_little_of_is_no_constant():
    """A model of labels explains little of their variance, and still tells them apart."""
    random = np.random.default_rng(0)
    age = random.uniform(0, 100, 4000)
    stay = 20.0 * (random.random(4000) < 0.005 + 0.0005 * age)
    ward = random.choice(["A", "B"], 4000)
    frame = pl.DataFrame({"age": age, "beds": age * 0 + 1.0, "ward": ward, "stay": stay})
    assert doubts(_document(), {"north": FrameSource(frame)}) == []


def test_another_number_of_records_is_told():
    rows = _rows(0)
    assert counted(_document(), {"north": rows}) == []
    (said,) = counted(_document(records="records = 765 #"), {"south": rows})
    assert said.endswith(
        "there are 100 records, and the treaty says that south holds 765: is this the file of south "
        "alone?"
    )


def test_a_target_that_nothing_tells_of():
    noise = np.random.default_rng(3).uniform(0, 20, 100)
    found = doubts(_document(), {"north": _rows(0, stay=noise)})
    assert found == [
        "The best model of 100 records is a constant: no column tells anything about stay"
    ]


def test_budget_that_is_left_unused_is_told():
    one_by_one = plan_of(fit(_document("one-at-a-time"), None))
    assert expected_answers(one_by_one) == {"north": 20.0, "south": 20.0}
    assert unused(one_by_one) == {"north": 0.5, "south": 0.5}
    (said,) = waste(one_by_one)
    assert said.startswith(
        "50% of the budget of north and 1 more is left unused: it is asked some 20"
    )
    assert "answers = 34 would let it answer with less noise" in said
    together = plan_of(fit(_document("averaged-subgradient"), None))
    assert unused(together) == pytest.approx({"north": 0.025, "south": 0.025})
    assert "answers = 39 would let it" in waste(together)[0]
    capped = TEXT.replace("METHOD", "one-at-a-time").replace(
        "epsilon = 1", "epsilon = 1\nanswers = 20"
    )
    assert unused(plan_of(fit(loads(capped), None))) == {}
