"""Sparse rows are the same rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from treaty.matrices import absolute, dense, euclidean, gram, scores, stacked, summed


@given(seed=st.integers(0, 10**6), n=st.integers(1, 20), p=st.integers(1, 8))
def test_everything_is_computed_of_them_as_of_dense_ones(seed, n, p):
    random = np.random.default_rng(seed)
    x = random.standard_normal((n, p)) * (random.random((n, p)) < 0.3)
    few = sparse.csr_array(x)
    weights, models = random.random(n), random.standard_normal((p, 3))
    np.testing.assert_array_equal(dense(few), x)
    np.testing.assert_allclose(scores(few, models), x @ models, atol=1e-12)
    np.testing.assert_allclose(summed(weights, few), weights @ x, atol=1e-12)
    np.testing.assert_allclose(gram(few), x.T @ x, atol=1e-12)
    np.testing.assert_allclose(gram(few, weights), gram(x, weights), atol=1e-12)
    np.testing.assert_allclose(absolute(few), np.abs(x).sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(euclidean(few), np.linalg.norm(x, axis=1), atol=1e-12)
    np.testing.assert_array_equal(dense(stacked([few, few[:1]])), stacked([x, x[:1]]))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_length_whose_squares_vanish_is_never_understated(kind):
    x = np.array([[3e-180, 4e-180, 0.0], [0.0, 0.0, 0.0], [3.0, 0.0, 4.0]])
    size = euclidean(kind(x))
    assert size[0] >= 5e-180 * (1 - 1e-12)
    assert list(size[1:]) == [0.0, 5.0]
