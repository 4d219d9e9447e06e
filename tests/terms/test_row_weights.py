"""Row weights: the same answers however the matrix is stored."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from equipoise.terms import Combination, RowWeights, SquaredGaps

N = 400


def matrix(rng, rates, groups, signs=False):
    """Weights of rows that belong to one of several groups each; only the first ones have rates."""
    dense = np.zeros((N, rates))
    group = rng.integers(groups, size=N)
    inside = group < rates
    dense[np.flatnonzero(inside), group[inside]] = rng.uniform(0.1, 1.0, inside.sum())
    return dense * rng.choice([-1.0, 1.0], size=(N, 1)) if signs else dense


@pytest.mark.parametrize("signs", [False, True])
@pytest.mark.parametrize(("rates", "groups"), [(1, 1), (1, 9), (2, 2), (4, 4), (5, 40), (30, 30)])
@pytest.mark.parametrize("given", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_every_answer_agrees_with_the_dense_matrix(rng, rates, groups, signs, given):
    W = matrix(rng, rates, groups, signs)
    weights = RowWeights(given(W))
    phi, u = rng.uniform(size=N), rng.normal(size=rates)
    assert weights.shape == (N, rates)
    np.testing.assert_array_equal(weights.matrix.toarray(), W)
    np.testing.assert_allclose(weights.rates(phi), W.T @ phi, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(weights.spread(u, phi), W @ u, rtol=1e-12)
    index = np.arange(rates)[::-2]
    columns = weights.columns(index, phi)
    columns = columns.toarray() if sparse.issparse(columns) else columns
    np.testing.assert_allclose(columns, (phi[:, None] * W)[:, index], rtol=1e-12)
    some = rng.permutation(N)[:50]
    np.testing.assert_allclose(weights.rows(some, 3.0).matrix.toarray(), 3.0 * W[some])
    np.testing.assert_array_equal(weights.matrix.toarray(), W)  # not scaled with its part
    np.testing.assert_array_equal(weights.largest, np.abs(W).max(axis=0))
    np.testing.assert_array_equal(weights.used, (W != 0).any(axis=1))
    plus, minus = weights.sides(phi)
    np.testing.assert_allclose(plus, np.maximum(W, 0).T @ phi, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(minus, np.maximum(-W, 0).T @ phi, rtol=1e-12, atol=1e-14)
    places = rng.integers(6, size=N)
    sums = [W[places == place].sum(axis=0) for place in range(7)]
    np.testing.assert_allclose(weights.by_place(places, 7), sums, rtol=1e-12, atol=1e-14)
    again = pickle.loads(pickle.dumps(weights))
    np.testing.assert_array_equal(again.rates(phi), weights.rates(phi))


def test_single_precision_scores_keep_their_type(rng):
    phi = rng.uniform(size=N).astype(np.float32)
    for groups in (2, 50):
        weights = RowWeights(matrix(rng, groups, groups))
        assert weights.spread(np.ones(groups), phi).dtype == np.float32
        assert weights.rates(phi).dtype == np.float64


@pytest.mark.parametrize("m", [2, 2000])
def test_a_sum_that_is_not_used_may_be_anything(rng, m):
    C = np.column_stack((np.zeros(m), rng.normal(size=(m, 2))))
    combination = Combination(C)
    expected = C[:, 1:] @ [1.0, 2.0]
    for unknown in (np.nan, np.inf, -np.inf):
        found = combination.plain_values(np.array([unknown, 1.0, 2.0]))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("m", [2, 2000])
def test_derivatives_of_some_functions_name_the_sums_they_need(rng, m):
    """Few coefficients are no sparse matrix: to take rows of one takes longer than all else here."""
    C = np.zeros((m, 5))
    C[:, [1, 4]] = rng.normal(size=(m, 2))
    bent = SquaredGaps(np.array([[0.0, 0.0, 1.0, -1.0, 0.0]]), [0.5])
    r, index = rng.normal(size=5), np.array([1, 0])
    combination = Combination(C, bent=[(1, bent)])
    used, rows = combination.at(r).rows(index)
    np.testing.assert_array_equal(used, [1, 2, 3, 4])
    assert sparse.issparse(rows) == (m > 2)
    expected = np.array([combination.at(r).pull(unit) for unit in np.eye(m)[index]])
    np.testing.assert_allclose(rows @ np.eye(5)[used], expected, rtol=1e-12)


@pytest.mark.parametrize("m", [2, 2000])
def test_largest_changes(rng, m):
    C, sizes = rng.normal(size=(m, 3)), np.array([0.1, 0.0, 2.0])
    found = Combination(C).largest_changes(sizes)
    np.testing.assert_allclose(found, (np.abs(C) * sizes).max(axis=1), rtol=1e-15)
