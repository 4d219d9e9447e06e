"""Weighted sums over the columns of a matrix, a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from equipoise._array import CONVERTED_BYTES, Array, namespace, placed, to_numpy

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


def tensor_moments(X: Array, weight: Array | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the `column_moments` of a tensor, on its device."""
    sums: Any = None
    for part, own in _tensor_pieces(X, weight):
        present = namespace(part).astype(part != 0, part.dtype)
        some = [own @ part, own @ (part * part), own @ present]
        sums = some if sums is None else [a + b for a, b in zip(sums, some)]
    total, square, present = map(to_numpy, sums)
    return total, square, present


def tensor_distances(
    X: Array, weight: Array | None, center: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Return the `squared_distances` of a tensor, on its device."""
    chosen = placed(columns, X)
    middle, sums = namespace(X).asarray(center[columns], device=X.device), 0.0
    for part, own in _tensor_pieces(X, weight):
        apart = part[:, chosen] - middle
        sums = sums + own @ (apart * apart)
    return to_numpy(sums)


def _tensor_pieces(X: Array, weight: Array | None) -> Iterator[tuple[Array, Array]]:
    """Yield some rows of a tensor at a time in double precision, and their weights."""
    xp, rows = namespace(X), max(1, CONVERTED_BYTES // (8 * X.shape[1]))
    for start in range(0, X.shape[0], rows):
        part = xp.astype(X[start : start + rows], xp.float64)
        if weight is None:
            yield part, xp.ones(part.shape[0], dtype=xp.float64, device=X.device)
        else:
            yield part, weight[start : start + rows]


def _pieces(X: Any, weight: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield columns, entries and weights of some rows of a CSR matrix at a time."""
    rows = int(np.clip(X.shape[0] // 16, 64, SPARSE_CHUNK_ROWS))
    for start in range(0, X.shape[0], rows):
        ends = X.indptr[start : start + rows + 1]
        some = slice(ends[0], ends[-1])
        repeated = np.repeat(weight[start : start + rows], np.diff(ends))
        yield X.indices[some], X.data[some], repeated
