"""Scales of columns: the same for sparse and dense data, also far from 0."""

import numpy as np
import pytest
from scipy import sparse

from equipoise import ConstrainedClassifier, Status, demographic_parity
from equipoise.rows import MemoryTable
from equipoise.rows import column_scales as scales_of


def column_scales(X, weight=None):
    table = MemoryTable(np.arange(X.shape[0]) % 2, X, weight=weight)
    return scales_of("test", table)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e7, 1.5e9])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_columns_far_from_0_get_the_scale_of_dense_ones(offset, weighted):
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2.0, 500) if weighted else None
    X = np.column_stack((offset + 100 * rng.normal(size=500), rng.normal(size=500), np.ones(500)))
    X[:250, 1] = 0.0
    scale, center = column_scales(X, weight)
    sparse_scale, sparse_center = column_scales(sparse.csr_array(X), weight)
    np.testing.assert_allclose(sparse_scale, scale, rtol=1e-6)
    np.testing.assert_allclose(sparse_center, center, rtol=1e-12, atol=1e-12)
    exact = np.sqrt(np.cov(X[:, 0], aweights=weight, ddof=0))
    assert sparse_scale[0] == pytest.approx(exact, rel=1e-6)


def test_a_column_that_is_rarely_stored_and_large_is_not_constant():
    X = np.zeros((1000, 2))
    X[0] = 1e8, 1.0
    X[1:500, 1] = np.random.default_rng(1).normal(size=499)
    scale, center = column_scales(sparse.csr_array(X))
    assert scale[0] == pytest.approx(1e8)
    assert center[0] == pytest.approx(1e5)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_single_precision_far_from_0_is_read_in_double(census, kind, offset):
    """Clock times as float32: the digits that differ would be lost in every product."""
    X = (census.X - census.X.mean(axis=0)) / census.X.std(axis=0)
    X = kind((X + offset).astype(np.float32))
    model = ConstrainedClassifier(demographic_parity(0.05)).fit(
        X, census.y, sensitive_features=census.groups
    )
    assert model.dtype_ == (np.float32 if offset == 0.0 else np.float64)
    assert model.status_ is Status.CONVERGED
    predicted = model.predict(X)
    rates = [predicted[census.groups == group].mean() for group in ("female", "male")]
    assert abs(rates[0] - rates[1]) <= 0.05 + 1e-12
    assert model.score(X, census.y) > 0.77
