"""Data of any size, with two groups whose scores differ."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def sparse_rows(n: int, d: int, per_row: int = 20, seed: int = 0):
    """Return CSR features (n, d), labels and groups.

    Scores have a spread of about 1.3, and group "a" scores higher by about as much, so that labels are
    noisy and a parity bound has something to do.
    """
    rng = np.random.default_rng(seed)
    per_row = min(per_row, d)
    columns = rng.integers(0, d, size=(n, per_row), dtype=np.int32)
    weights = rng.normal(size=d) * 1.3 / np.sqrt(per_row)
    a = rng.random(n) < 0.4
    values = rng.normal(size=(n, per_row))
    values += 0.3 * a[:, None] * np.sign(weights[columns])
    X = sparse.csr_array(
        (values.ravel(), columns.ravel(), np.arange(0, n * per_row + 1, per_row, dtype=np.int32)),
        shape=(n, d),
    )
    X.sum_duplicates()
    y = (X @ weights + rng.logistic(size=n) > 0.5).astype(int)
    return X, y, np.where(a, "a", "b")


def dense_rows(n: int, d: int, seed: int = 0):
    """Return dense features (n, d), labels and groups, much like `sparse_rows`."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=d) * 1.3 / np.sqrt(d)
    a = rng.random(n) < 0.4
    X = rng.normal(size=(n, d)) + 1.3 / np.sqrt(d) * a[:, None] * np.sign(weights)
    y = (X @ weights + rng.logistic(size=n) > 0.5).astype(int)
    return X, y, np.where(a, "a", "b")


def size(X: sparse.csr_array) -> int:
    """Bytes of a sparse matrix."""
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
