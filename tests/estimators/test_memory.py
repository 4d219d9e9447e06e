"""Memory: a fit adds a small multiple of its data."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from equipoise import ConstrainedClassifier, demographic_parity
from equipoise.rows import _memory_rows, _memory_table


@pytest.mark.parametrize(
    ("n", "d", "density", "loss"),
    [
        (1000, 100, 0.1, "logistic"),
        (10_000, 100, 0.1, "logistic"),
        (10_000, 20, 1.0, "logistic"),
        (10_000, 5000, 2e-3, "logistic"),
        (5000, 100, 0.1, "hinge"),
    ],
)
def test_a_fit_adds_less_than_three_times_the_data(n, d, density, loss):
    """As arrays go; the allocator and BLAS come on top."""
    rng = np.random.default_rng(0)
    groups = np.where(rng.random(n) < 0.4, "a", "b")
    A = sparse.random_array((n, d), density=density, rng=rng, format="csr")
    A = A if density < 1 else A.toarray()
    y = (A @ rng.normal(size=d) + 0.5 * (groups == "a") + rng.normal(size=n) > 0.3).astype(int)
    data = A.nbytes if density == 1 else A.data.nbytes + A.indices.nbytes + A.indptr.nbytes
    model = ConstrainedClassifier(demographic_parity(0.02), loss=loss)
    model.fit(A, y, sensitive_features=groups)  # loads what is loaded on first use
    tracemalloc.start()
    try:
        model.fit(A, y, sensitive_features=groups)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3.0 * data, peak / data


def test_rows_are_copied_to_order_them_only_where_that_is_little(monkeypatch):
    table = _memory_table.MemoryTable(np.array([1, 0, 1]), np.arange(6.0).reshape(3, 2))
    assert table.in_order().X is not table.X
    monkeypatch.setattr(_memory_rows, "ORDERED_UP_TO", 6 * 8 - 1)
    assert table.in_order() is table
