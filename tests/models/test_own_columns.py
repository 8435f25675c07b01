"""Columns of an owner's own on top of the shared score."""

import numpy as np
import polars as pl
import pytest

import treaty as t
from treaty.errors import TreatyError
from treaty.models.own_columns import ColumnReader
from treaty.records import Dictionary, Number, Target


def _rows(n, seed, labels=False, further=1.0):
    """y = 3a + the own columns, hour (a bend) and gate (categories), + noise."""
    random = np.random.default_rng(seed)
    a, hour = random.uniform(-1, 1, n), random.uniform(0, 24, n)
    gate = random.integers(6, size=n)
    y = 3 * a + further * (0.3 * np.abs(hour - 12) + 0.5 * gate - 3) + random.standard_normal(n)
    frame = pl.DataFrame({"a": a, "hour": hour, "gate": [f"G{g}" for g in gate], "y": y})
    if labels:
        frame = frame.with_columns(pl.when(pl.col("y") > 0).then(1).otherwise(-1).alias("y"))
    return frame


def _model(labels=False):
    bounds = {} if labels else {"bounds": (-10, 10)}
    return t.Model(
        treaty="0" * 64,
        features={"a": Number(bounds=(-1, 1))},
        target=Target(column="y", **bounds),
        dictionary=Dictionary(columns=("a",), centre=(0,), scale=(1,)),
        loss="logistic" if labels else "squared",
        theta=(1.5, 0.0) if labels else (0.3, 0.0),
    )


@pytest.mark.parametrize("labels", [False, True])
def test_what_a_treaty_leaves_out_is_used_on_top_of_the_shared_score(labels, tmp_path):
    ours, later = _rows(600, 1, labels), _rows(4000, 2, labels)
    plain = t.adapt_model(_model(labels), ours)
    report = t.adapt_model(_model(labels), ours, extra=("hour", "gate"))
    measure = "log_loss" if labels else "rmse"
    before = plain.gain.adapted.measures[measure].value
    after = report.gain.adapted.measures[measure].value
    assert after < 0.9 * before
    # A rival may use what the owner has: what joining brings is not what own columns bring.
    assert report.gain.alone.measures[measure].value < 0.9 * before
    report.model.save(tmp_path / "ours.json")
    model = t.Model.load(tmp_path / "ours.json")
    assert model.own_columns is not None
    assert list(model.own_columns.features) == ["hour", "gate"]
    score, pipeline = model.margin(later), model.to_sklearn()
    if labels:
        error = np.mean(np.logaddexp(0, -later["y"].to_numpy() * score))
        odds = pipeline.predict_proba(later)[:, 1]
        np.testing.assert_allclose(odds, 1 / (1 + np.exp(-score)), rtol=1e-9)
    else:
        error = np.sqrt(np.mean((10 * score - later["y"].to_numpy()) ** 2))
        np.testing.assert_allclose(pipeline.predict(later), 10 * score, rtol=1e-9)
        np.testing.assert_allclose(pipeline.predict(later.to_pandas()), 10 * score, rtol=1e-9)
    assert error == pytest.approx(after, rel=0.1)


def test_columns_that_say_nothing_cost_next_to_nothing():
    costs = []
    for seed in range(8):
        ours, later = _rows(100, seed, further=0.0), _rows(3000, 100 + seed, further=0.0)
        truth = later["y"].to_numpy()
        error = [
            np.sqrt(np.mean((10 * _model().adapt(ours, extra=extra).margin(later) - truth) ** 2))
            for extra in ((), ("hour", "gate"))
        ]
        costs.append(error[1] / error[0] - 1)
    assert np.mean(costs) < 0.01


def test_a_part_that_is_left_out_tells_nothing_about_how_columns_are_read():
    ours = _rows(200, 3)
    own = _model().reader.own(ours, ("hour", "gate")).records
    hidden = own.rows[2]
    others = np.setdiff1d(np.arange(200), hidden)
    strange = ours.with_row_index().with_columns(
        pl.when(pl.col("index").is_in(hidden)).then(1e6).otherwise("hour").alias("hour"),
        pl.when(pl.col("index").is_in(hidden)).then(pl.lit("G9")).otherwise("gate").alias("gate"),
    )
    changed = _model().reader.own(strange, ("hour", "gate")).records
    np.testing.assert_array_equal(changed.hiding(2).x[others], own.hiding(2).x[others])
    assert changed.x.shape != own.x.shape or not np.array_equal(changed.x[others], own.x[others])


def test_columns_are_read_as_the_records_that_may_be_seen_tell():
    frame = pl.DataFrame(
        {
            "flag": [0, 1] * 15,
            "same": [7.0] * 30,
            "text": ["a"] * 20 + ["b"] * 6 + ["c"] * 4,
            "number": [float(i) for i in range(29)] + [None],
            "rare": [str(i) + "x" for i in range(30)],
        }
    )
    read = ColumnReader(frame).fit(np.arange(30))
    assert list(read.features) == ["flag", "text", "number"]
    assert read.features["text"].categories == ("a", "b")
    assert read.features["number"].width == 6
    x = read.x(frame).toarray()
    assert x.shape == (30, 1 + 2 + 6)
    assert not x[29, 3:].any()  # a missing number is none
    assert not x[27, 1:3].any()  # and so is a rare category
    nothing = ColumnReader(frame.select("same", "rare")).fit(np.arange(30))
    assert nothing.x(frame).shape == (30, 0)


def test_own_columns_may_say_nothing():
    ours = _rows(60, 4).with_columns(same=pl.lit("x"), rare=pl.arange(60).cast(pl.String) + "r")
    model = _model().adapt(ours, extra=("rare",))
    assert model.own_columns is not None
    assert model.own_columns.features == {}
    np.testing.assert_allclose(model.margin(ours), _model().adapt(ours).margin(ours), atol=1e-6)


def test_a_model_with_own_columns_is_adapted_again():
    model = _model().adapt(_rows(300, 5), extra=("hour", "gate"))
    again = model.adapt(_rows(300, 6), public=_rows(100, 7).select("a", "y"))
    assert again.adapted.times == 2
    assert again.own_columns == model.own_columns
    with pytest.raises(TreatyError, match="this model has columns of your own already"):
        model.adapt(_rows(300, 6), extra=("hour",))
    with pytest.raises(TreatyError, match='there is no column "hour"'):
        model.adapt(_rows(300, 6).drop("hour"))


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        ("y", '"y" is what is predicted: it cannot be an extra column'),
        ("a", '"a" is a column of the model already'),
        ("wind", 'there is no column "wind"'),
        ("many", 'column "many" holds lists'),
    ],
)
def test_a_column_that_cannot_be_an_extra_one(extra, says):
    ours = _rows(60, 4).with_columns(many=pl.concat_list("a", "hour"))
    with pytest.raises(TreatyError, match=says):
        _model().adapt(ours, extra=(extra,))
