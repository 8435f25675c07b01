import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from sklearn.covariance import LedoitWolf
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from treaty.errors import TreatyError
from treaty.records import Counts, Dictionary, DictionaryTerms, Encoder, Number, OneHot, Target
from treaty.records.dictionary import Fourier, lengths
from treaty.records.encoder import encode
from treaty.records.fitting import bounds_dictionary, fit_dictionary

FEATURES = {
    "a": Number(bounds=(-3, 5)),
    "b": Number(bounds=(0, 100), log1p=True),
    "c": OneHot(kind="one-hot", categories=("x", "y", "z")),
}
TARGET = Target(column="t", bounds=(0, 1))


def _frame(n: int, seed: int = 0, wild: bool = False) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    scale = 50.0 if wild else 1.0
    return pl.DataFrame(
        {
            "a": scale * random.standard_normal(n) + 1,
            "b": np.abs(scale * 10 * random.standard_normal(n)),
            "c": random.choice(["x", "y", "z", "?"], n),
            "t": random.random(n),
        }
    )


def _fit(terms: DictionaryTerms, n: int = 300) -> Dictionary:
    return fit_dictionary(terms, FEATURES, encode(FEATURES, _frame(n), Counts()))


TERMS = {
    "bounds": DictionaryTerms(),
    "bounds, l1 ball": DictionaryTerms(radius=0.7, norm="l1"),
    "public": DictionaryTerms(standardise="public"),
    "public, l2 ball": DictionaryTerms(standardise="public", radius_quantile=0.8),
    "frequency": DictionaryTerms(standardise="frequency"),
    "frequency, l1 ball": DictionaryTerms(
        standardise="frequency", radius_quantile=0.9, norm="l1", intercept=0.3
    ),
    "pca": DictionaryTerms(standardise="public", components=3),
    "whitened": DictionaryTerms(standardise="public", components=3, whiten=True, intercept=0.0),
    "whitened, l1 ball": DictionaryTerms(
        standardise="public", components=2, whiten=True, radius_quantile=0.5, norm="l1"
    ),
    "pca of bounds": DictionaryTerms(components=4, intercept=0.5),
    "fourier": DictionaryTerms(standardise="public", fourier=Fourier(features=6)),
    "fourier, ball": DictionaryTerms(fourier=Fourier(features=8, bandwidth=2.0), radius=0.9),
}


@pytest.mark.parametrize("name", TERMS)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=15)
def test_no_record_ever_leaves_the_declared_domain(name, seed):
    terms = TERMS[name]
    fitted = _fit(terms) if terms.needs_public_rows else bounds_dictionary(terms, FEATURES)
    encoder = Encoder(FEATURES, TARGET, fitted)
    x = encoder.x(_frame(80, seed, wild=True))
    domain = encoder.domain
    assert x.shape == (80, domain.dimension)
    assert lengths(x, "l1").max() <= domain.l1 * (1 + 1e-12)
    assert lengths(x, "l2").max() <= domain.l2 * (1 + 1e-12)


def test_bounds_of_the_plain_dictionary_are_attained():
    """Three features: two numbers at ±1, one category: ‖x‖₁ = 1 + 1 + 1 + intercept."""
    encoder = Encoder(FEATURES, TARGET, bounds_dictionary(DictionaryTerms(), FEATURES))
    worst = pl.DataFrame({"a": [5.0], "b": [100.0], "c": ["x"]})
    x = encoder.x(worst)
    np.testing.assert_allclose(x, [[1, 1, 1, 0, 0, 1]])
    assert (encoder.domain.l1, encoder.domain.l2) == pytest.approx((4.0, 2.0))


def test_pca_equals_scikit_learn_up_to_sign():
    encoded = encode(FEATURES, _frame(300), Counts())
    fitted = _fit(TERMS["pca"])
    z = (encoded - encoded.mean(axis=0)) / np.array(fitted.scale)
    peer = PCA(3).fit(z)
    ours = np.array(fitted.directions)
    np.testing.assert_allclose(np.abs(np.sum(ours * peer.components_, axis=1)), 1.0, atol=1e-9)


def test_whitened_public_rows_have_unit_covariance():
    x = Encoder(FEATURES, TARGET, _fit(TERMS["whitened"])).x(_frame(300))
    np.testing.assert_allclose(np.cov(x, rowvar=False, bias=True), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-9)


def _beside(seed: int, twice: bool):
    """Three numbers, two of them all but alike (or one of them twice), and a category."""
    random = np.random.default_rng(seed)
    a = random.uniform(-1, 1, 400)
    b = a if twice else np.clip(a + 0.01 * random.standard_normal(400), -1, 1)
    kind = np.where(random.random(400) < 0.25, "x", "y")
    frame = pl.DataFrame({"a": a, "b": b, "c": random.uniform(-1, 1, 400), "kind": kind})
    numbers = {name: Number(bounds=(-1, 1)) for name in "abc"}
    features = {**numbers, "kind": OneHot(kind="one-hot", categories=("x", "y"))}
    terms = DictionaryTerms(standardise="frequency", whiten=True, norm="l1")
    fitted = fit_dictionary(terms, features, encode(features, frame, Counts()))
    return Encoder(features, TARGET, fitted), frame


def test_numbers_are_whitened_among_themselves_beside_categories_as_they_are():
    encoder, frame = _beside(0, twice=False)
    x = encoder.x(frame)
    numbers = StandardScaler().fit_transform(frame["a", "b", "c"].to_numpy())
    peer = LedoitWolf().fit(numbers)
    values = np.linalg.eigvalsh(np.cov(numbers, rowvar=False, bias=True))
    expected = values / ((1 - peer.shrinkage_) * values + peer.shrinkage_ * np.mean(values))
    assert expected[0] < 0.1 < 0.9 < expected[1]  # that of two that are all but alike
    np.testing.assert_allclose(
        np.cov(x[:, :3], rowvar=False, bias=True), np.diag(expected[::-1]), atol=1e-6
    )
    assert set(np.unique(x[:, 3]).round(1)) <= {0.0, 2.0, 1.9, 2.1}
    assert np.count_nonzero(x[:, 3:5]) == 400  # one category a row
    assert np.abs(x).sum(axis=1).max() <= encoder.domain.l1 * (1 + 1e-9)
    again, frame = _beside(0, twice=True)
    assert again.x(frame).shape[1] == 6
    np.testing.assert_allclose(again.x(frame)[:, 2], 0.0, atol=1e-6)  # one number is there twice


def test_radius_quantile_holds_that_share_of_public_rows():
    encoder, counts = Encoder(FEATURES, TARGET, _fit(TERMS["public, l2 ball"])), Counts()
    encoder.x(_frame(300), counts)
    assert counts.scaled == pytest.approx(60, abs=1)


def test_fourier_features_approximate_the_gaussian_kernel():
    features = {"a": Number(bounds=(-3, 3)), "b": Number(bounds=(-3, 3))}
    terms = DictionaryTerms(
        standardise="bounds", fourier=Fourier(features=4000, bandwidth=0.5), intercept=0
    )
    random = np.random.default_rng(0)
    frame = pl.DataFrame({c: random.uniform(-3, 3, 20) for c in features})
    encoded = encode(features, frame, Counts())
    x = Encoder(features, TARGET, fit_dictionary(terms, features, encoded)).x(frame)
    z = encoded / 3
    apart = ((z[:, None] - z[None]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(x @ x.T, np.exp(-apart / (2 * 0.25)), atol=0.08)
    np.testing.assert_allclose(lengths(x, "l2"), 1.0)


@pytest.mark.parametrize("name", TERMS)
def test_a_dictionary_is_plain_json_and_comes_back_to_the_last_bit(name):
    terms = TERMS[name]
    fitted = _fit(terms) if terms.needs_public_rows else bounds_dictionary(terms, FEATURES)
    again = Dictionary.model_validate(json.loads(fitted.model_dump_json()))
    assert again == fitted


def test_fitting_is_deterministic():
    assert _fit(TERMS["whitened, l1 ball"]) == _fit(TERMS["whitened, l1 ball"])


def test_constant_columns_are_named():
    frame = _frame(50).with_columns(a=pl.lit(2.0))
    with pytest.raises(TreatyError, match='column "a" is constant in the public rows'):
        fit_dictionary(TERMS["public"], FEATURES, encode(FEATURES, frame, Counts()))


def _switches(rows: int, on: int) -> pl.DataFrame:
    """Rows in which b is 7, but for the first few."""
    return _frame(rows).with_columns(b=pl.Series([20.0] * on + [7.0] * (rows - on)))


@pytest.mark.parametrize("kind", ["public", "frequency"])
def test_a_part_in_which_a_column_is_constant_keeps_the_scale_of_the_whole(kind):
    terms = DictionaryTerms(standardise=kind)
    rows = encode(FEATURES, _switches(40, 4), Counts())
    whole = fit_dictionary(terms, FEATURES, rows)
    part = fit_dictionary(terms, FEATURES, rows[10:], whole)
    assert part.scale[1] == whole.scale[1] == pytest.approx(0.3 * np.log(21 / 8))
    assert part.centre[1] == pytest.approx(np.log(8))
    assert part.scale[0] == pytest.approx(rows[10:, 0].std())
    # A value that the part never saw is as far off as it is in the whole.
    assert np.ptp(part.apply(rows)[0][:, 1]) == pytest.approx(1 / 0.3)


def test_a_part_is_whitened_in_as_many_directions_as_the_whole():
    """One along which it does not vary is left as it is."""
    terms = DictionaryTerms(standardise="public", whiten=True, components=5)
    rows = encode(FEATURES, _switches(400, 4), Counts())
    whole = fit_dictionary(terms, FEATURES, rows)
    part = fit_dictionary(terms, FEATURES, rows[10:], whole)
    assert np.shape(part.directions) == np.shape(whole.directions) == (5, 5)
    x = part.apply(rows)[0][:, :-1]
    np.testing.assert_allclose(x[10:].std(axis=0), [1, 1, 1, 1, 0], atol=1e-9)
    away = np.log(21 / 8) / whole.scale[1]
    np.testing.assert_allclose(np.abs(x[:, 4]), [away] * 4 + [0.0] * 396, atol=1e-9)


def test_a_part_in_which_no_number_varies_is_fitted_all_the_same():
    terms = DictionaryTerms(standardise="frequency", whiten=True)
    rows = encode(FEATURES, _switches(40, 4), Counts())
    rows[10:, 0] = rows[10, 0]
    whole = fit_dictionary(terms, FEATURES, rows)
    part = fit_dictionary(terms, FEATURES, rows[10:], whole)
    x = part.apply(rows)[0]
    assert np.isfinite(x).all()
    np.testing.assert_allclose(x[10:, :2], 0.0, atol=1e-12)
    assert np.ptp(np.linalg.norm(x[:, :2], axis=1)) > 1


def test_too_few_rows_and_too_many_components():
    with pytest.raises(TreatyError, match=r"cannot be fitted on 1 public row"):
        _fit(TERMS["pca"], n=1)
    with pytest.raises(TreatyError, match="6 components cannot come out of 5 columns"):
        _fit(DictionaryTerms(components=6))
    with pytest.raises(TreatyError, match="choose fewer components"):
        _fit(DictionaryTerms(components=5, whiten=True), n=3)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"components": 0}, "at least 1"),
        ({"whiten": True}, "say how many components"),
        ({"radius": -1.0}, "radius must lie between 1e-12 and"),
        ({"radius": 1.0, "radius_quantile": 0.5}, "not both"),
        ({"radius_quantile": 1.5}, "at most 1"),
        ({"intercept": -1.0}, "intercept must lie between 1e-12 and"),
        ({"fourier": {"features": 3}}, "even number"),
        ({"fourier": {"features": 4, "bandwidth": 0.0}}, "bandwidth must lie between 1e-12 and"),
    ],
)
def test_senseless_terms_are_refused(settings, says):
    with pytest.raises(ValidationError, match=says):
        DictionaryTerms(**settings)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"intercept": -1.99}, "intercept must lie between 1e-12 and"),
        ({"radius": -10.0}, "radius must lie between 1e-12 and"),
        ({"radius": 1e-200}, "radius must lie between 1e-12 and"),
        ({"centre": [0.0], "scale": [1.0]}, "must have 5 numbers"),
        ({"scale": [1.0, 0.0, 1.0, 1.0, 1.0]}, "every scale of a dictionary must lie between"),
        ({"scale": [1.0, 1e-309, 1.0, 1.0, 1.0]}, "every scale of a dictionary must lie between"),
        ({"scale": [1.0, -1.0, 1.0, 1.0, 1.0]}, "every scale of a dictionary must lie between"),
        ({"directions": [[1.0, 0.0]]}, "need rows of 5 numbers"),
        ({"directions": []}, "need rows of 5 numbers"),
        ({"frequencies": [[1.0]]}, "need rows of 5 numbers"),
        ({"centre": [1e60, 0.0, 0.0, 0.0, 0.0]}, "may not exceed"),
    ],
)
def test_a_forged_dictionary_cannot_understate_its_bounds(change, says):
    honest = json.loads(bounds_dictionary(DictionaryTerms(), FEATURES).model_dump_json())
    with pytest.raises(ValidationError, match=says):
        Dictionary.model_validate(honest | change)


def test_a_column_that_is_constant_but_for_rounding_is_constant():
    frame = _frame(50).with_columns(a=pl.lit(0.1))
    with pytest.raises(TreatyError, match='column "a" is constant'):
        fit_dictionary(TERMS["public"], FEATURES, encode(FEATURES, frame, Counts()))
