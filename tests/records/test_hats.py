"""Hat functions: weights on public knots, against NumPy's interpolation and by hand."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from treaty.errors import TreatyError
from treaty.records import (
    Counts,
    DictionaryTerms,
    Encoder,
    FrameSource,
    Hats,
    Number,
    OneHot,
    Target,
    dictionary_for,
)
from treaty.records.encoder import encode
from treaty.records.fitting import fit_dictionary, place_knots

KNOTS = (0.0, 1.0, 4.0)


def _encoded(feature: Hats, values: list[float | None]) -> np.ndarray:
    out = np.empty((len(values), feature.width))
    feature.encode("a", pl.Series(values, dtype=pl.Float64), out, Counts())
    return out


def test_weights_by_hand():
    hats = Hats(kind="hats", bounds=(-5, 10), knots=KNOTS)
    found = _encoded(hats, [0.0, 0.25, 2.5, 4.0, 9.0, -3.0, 99.0])
    expected = [
        [1, 0, 0],
        [0.75, 0.25, 0],
        [0, 0.5, 0.5],
        [0, 0, 1],
        [0, 0, 1],
        [1, 0, 0],
        [0, 0, 1],
    ]
    np.testing.assert_allclose(found, expected)
    assert hats.names("a") == ["a~0", "a~1", "a~4"]


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=20))
def test_a_model_of_hats_is_a_line_from_knot_to_knot(values):
    hats = Hats(kind="hats", bounds=(-10, 10), knots=KNOTS)
    found = _encoded(hats, list(values))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert found.min() >= 0
    heights = np.array([3.0, -1.0, 2.0])
    np.testing.assert_allclose(found @ heights, np.interp(values, KNOTS, heights), atol=1e-9)


def test_missing_values_are_none_of_them_or_what_stands_for_them():
    counts = Counts()
    out = np.empty((2, 3))
    hats = Hats(kind="hats", bounds=(-5, 10), knots=KNOTS)
    hats.encode("a", pl.Series([None, 1.0]), out, counts)
    np.testing.assert_allclose(out, [[0, 0, 0], [0, 1, 0]])
    assert counts.missing["a"] == 1
    filled = Hats(kind="hats", bounds=(-5, 10), knots=KNOTS, missing=4.0)
    np.testing.assert_allclose(_encoded(filled, [None]), [[0, 0, 1]])


def test_knots_are_placed_at_public_quantiles_and_are_as_many_as_agreed():
    features = {"a": Hats(kind="hats", bounds=(0, 10), quantiles=5)}
    public = pl.DataFrame({"a": np.linspace(0, 8, 801)})
    placed = place_knots(features, FrameSource(public))["a"]
    np.testing.assert_allclose(placed.knots, [0, 2, 4, 6, 8])
    heaped = pl.DataFrame({"a": [0.0] * 50 + [1.0] * 2})
    assert len(place_knots(features, FrameSource(heaped))["a"].knots) == 5
    evenly = place_knots(features, None)["a"]
    np.testing.assert_allclose(evenly.knots, [0, 2.5, 5, 7.5, 10])
    with pytest.raises(TreatyError, match="have not been placed yet: treaty fit does that"):
        _encoded(features["a"], [1.0])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({}, "give knots, or quantiles"),
        ({"knots": (0.0, 1.0), "quantiles": 3}, "give knots, or quantiles"),
        ({"knots": (1.0, 0.0)}, "increasing order"),
        ({"knots": (0.0, 0.0)}, "increasing order"),
        ({"knots": (0.0, 99.0)}, "inside the bounds"),
        ({"knots": (0.0,)}, "at least 2"),
        ({"quantiles": 1}, "greater than or equal to 2"),
    ],
)
def test_senseless_knots_are_refused(settings, says):
    with pytest.raises(ValidationError, match=says):
        Hats(kind="hats", bounds=(0, 10), **settings)


def test_columns_by_frequency_stay_sparse_and_have_unit_mean_square():
    """A category that a quarter of the rows have becomes 2 where it is, and 0 elsewhere."""
    features = {
        "a": Hats(kind="hats", bounds=(0, 10), knots=(0.0, 5.0, 10.0)),
        "b": OneHot(kind="one-hot", categories=("x", "y", "never")),
    }
    n = 40_000
    random = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"a": random.uniform(0, 10, n), "b": np.where(random.random(n) < 0.25, "x", "y")}
    )
    terms = DictionaryTerms(standardise="frequency", norm="l1")
    fitted = fit_dictionary(terms, features, encode(features, frame, Counts()))
    x = Encoder(features, Target(column="t", bounds=(0, 1)), fitted).x(frame)
    assert np.count_nonzero(x[:, :-1]) <= 3 * n  # at most two hats and one category a row
    np.testing.assert_allclose(np.mean(x[:, [0, 1, 2, 3, 4]] ** 2, axis=0), 1.0, rtol=1e-3)
    assert set(np.unique(x[:, 3]).round(1)) == {0.0, 2.0}
    assert fitted.scale[5] == pytest.approx(1 / np.sqrt(n + 1))  # rare, not absent


@given(
    seed=st.integers(0, 10**6),
    knots=st.integers(2, 6),
    missing=st.sampled_from([None, -2.5, 0.3]),
    norm=st.sampled_from(["l1", "l2"]),
)
@settings(max_examples=60)
def test_with_a_straight_column_every_row_lies_inside_the_declared_norms(
    seed, knots, missing, norm
):
    """Frequency scaling, values everywhere, missing ones too: sup‖x‖ over what can be encoded."""
    random = np.random.default_rng(seed)
    places = tuple(sorted(random.choice(np.linspace(-2.9, 2.9, 59), knots, replace=False).tolist()))
    hats = Hats(kind="hats", bounds=(-3.0, 3.0), knots=places, missing=missing, straight=True)
    features = {"a": hats, "b": Number(bounds=(0.0, 1.0))}
    public = pl.DataFrame({"a": random.normal(0, 1, 40), "b": random.uniform(0, 1, 40)})
    terms = DictionaryTerms(standardise="frequency", norm=norm)
    fitted = dictionary_for(terms, features, FrameSource(public))
    encoder = Encoder(features, Target(column="y", bounds=(0.0, 1.0)), fitted)
    values = [*random.uniform(-5, 5, 200).tolist(), *places, -3.0, 3.0, None]
    frame = pl.DataFrame({"a": values, "b": random.choice([-1.0, 2.0], len(values))})
    x = encoder.x(frame)
    assert x.shape[1] == knots + 3
    assert np.abs(x).sum(axis=1).max() <= encoder.domain.l1
    assert np.linalg.norm(x, axis=1).max() <= encoder.domain.l2


def test_beyond_the_outermost_knots_only_the_straight_column_moves():
    hats = Hats(kind="hats", bounds=(0.0, 10.0), knots=(2.0, 4.0), straight=True)
    out = np.empty((5, 3))
    hats.encode("a", pl.Series("a", [1.0, 3.0, 9.0, 20.0, None]), out, Counts())
    assert hats.names("a") == ["a~2", "a~4", "a"]
    assert out.tolist() == [
        [1.0, 0.0, -0.8],
        [0.5, 0.5, -0.4],
        [0.0, 1.0, 0.8],
        [0.0, 1.0, 1.0],
        [0.0, 0.0, 0.0],
    ]
