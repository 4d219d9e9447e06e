"""Weighted sums over the columns of a matrix, a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

# Rows of sparse data that are handled at a time, so that the data are not copied as a whole. Chosen.
SPARSE_CHUNK_ROWS = 1 << 14

# Rows of dense data that are handled at a time. Chosen: they stay in the cache of a core.
DENSE_CHUNK_ROWS = 1 << 10


def column_moments(X: Any, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sums over every column of its entries, of their squares, of the weight of non-zeros."""
    n, d = X.shape
    if not sparse.issparse(X):  # einsum: no copy of the size of X is made
        total = np.einsum("i,ij->j", weight, X, dtype=np.float64)
        square = np.einsum("i,ij,ij->j", weight, X, X, dtype=np.float64)
        present = np.zeros(d)
        for start in range(0, n, DENSE_CHUNK_ROWS):
            some = slice(start, start + DENSE_CHUNK_ROWS)
            present += weight[some] @ (X[some] != 0)
        return total, square, present
    total, square, present = np.zeros(d), np.zeros(d), np.zeros(d)
    for index, data, weights in _pieces(X, weight):
        present += np.bincount(index, weights * (data != 0), minlength=d)
        weights *= data
        total += np.bincount(index, weights, minlength=d)
        weights *= data
        square += np.bincount(index, weights, minlength=d)
    return total, square, present


def squared_distances(
    X: Any, weight: np.ndarray, center: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Return the sums of squared distances from the centre, for some columns."""
    if not sparse.issparse(X):
        return np.array([weight @ (X[:, j] - center[j]) ** 2 for j in columns])
    d = X.shape[1]
    total, stored, count = np.zeros(d), np.zeros(d), np.zeros(d)
    for index, data, weights in _pieces(X, weight):
        total += np.bincount(index, weights * (data - center[index]) ** 2, minlength=d)
        stored += np.bincount(index, weights, minlength=d)
        count += np.bincount(index, minlength=d)
    absent = np.where(count < X.shape[0], weight.sum() - stored, 0.0)
    return (total + absent * center**2)[columns]


def _pieces(X: Any, weight: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield columns, entries and weights of some rows of a CSR matrix at a time."""
    rows = int(np.clip(X.shape[0] // 16, 64, SPARSE_CHUNK_ROWS))
    for start in range(0, X.shape[0], rows):
        ends = X.indptr[start : start + rows + 1]
        some = slice(ends[0], ends[-1])
        repeated = np.repeat(weight[start : start + rows], np.diff(ends))
        yield X.indices[some], X.data[some], repeated
