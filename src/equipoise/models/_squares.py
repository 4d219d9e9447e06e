"""Sums of squared entries of features, by column and by row, some rows at a time in double precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from equipoise._array import CONVERTED_BYTES, Array, is_tensor, like, namespace, placed, to_numpy

if TYPE_CHECKING:
    from equipoise.models._features import Features

# Rows that are made double precision at a time, so that the data are not copied as a whole. Chosen.
CONVERTED_ROWS = 1 << 12


def column_means(features: Features, index: np.ndarray | None) -> np.ndarray:
    """Return the mean square of every column, over some rows or all; shape (d,)."""
    n, d = features.shape[0] if index is None else len(index), features.shape[1]
    total, square = np.zeros(d), np.zeros(d)
    for part, squares in _pieces(features, index):
        total += to_numpy(_sums(part))
        square += to_numpy(_sums(squares))
    if features.center is not None:
        square = square - features.center * (2.0 * total - n * features.center)
    return np.maximum(square if features.scale is None else square / features.scale**2, 0.0) / n


def row_sums(features: Features, weights: np.ndarray, index: np.ndarray | None = None) -> Array:
    """Return ``sum_j weights_j B_ij^2`` for every row `i`, or for some; a tensor for tensors."""
    d = features.shape[1]
    inverse = weights if features.scale is None else weights / features.scale**2
    shifted = np.zeros(d) if features.center is None else features.center * inverse
    constant = 0.0 if features.center is None else float(features.center @ shifted)
    if features.on_host:
        first, second = -2.0 * shifted, inverse
    else:
        xp, device = namespace(features.A), features.A.device
        first, second = (
            xp.asarray(w, dtype=xp.float64, device=device) for w in (-2.0 * shifted, inverse)
        )
    sums = [p @ first + q @ second + constant for p, q in _pieces(features, index)]
    if features.on_host:
        return np.maximum(np.concatenate(sums), 0.0)
    return xp.clip(xp.concat(sums), 0.0)


def column_sums(features: Features, weights: np.ndarray) -> np.ndarray:
    """Return ``sum_i weights_i (A_ij / scale_j)^2`` for every column `j`: not centred."""
    square, start = np.zeros(features.shape[1]), 0
    for _, squares in _pieces(features):
        own = weights[start : start + squares.shape[0]]
        square += to_numpy(squares.T @ (like(own, squares) if is_tensor(squares) else own))
        start += squares.shape[0]
    return square if features.scale is None else square / features.scale**2


def _pieces(features: Features, index: np.ndarray | None = None) -> Iterator[tuple[Any, Any]]:
    """Yield some rows of `A` at a time in float64, and their squares; of `index`, if it is given."""
    A, n = features.A, features.shape[0] if index is None else len(index)
    rows = CONVERTED_ROWS // 4
    if features.is_sparse:
        rows = max(CONVERTED_ROWS // 16, min(CONVERTED_ROWS, n // 16))
    elif not features.on_host:
        rows = max(1, CONVERTED_BYTES // (8 * features.shape[1]))
    for start in range(0, n, rows):
        some = slice(start, start + rows)
        if features.is_sparse:
            yield _sparse_piece(A, some, index)
            continue
        part = A[some] if index is None else A[placed(index[some], A)]
        xp = namespace(part)
        part = xp.astype(part, xp.float64, copy=False)
        yield part, part * part


def _sparse_piece(A: Any, some: slice, index: np.ndarray | None) -> tuple[Any, Any]:
    start, stop = some.start, some.stop
    if index is not None:
        A, start, stop = A[index[some]], 0, some.stop - some.start
    ends = A.indptr[start : stop + 1]
    entries = slice(ends[0], ends[-1])
    layout = A.indices[entries], ends - ends[0]
    data = A.data[entries].astype(np.float64, copy=False)
    shape = len(ends) - 1, A.shape[1]
    return (
        sparse.csr_array((data, *layout), shape=shape),
        sparse.csr_array((data * data, *layout), shape=shape),
    )


def _sums(part: Any) -> Array:
    """Return the sum of every column."""
    if is_tensor(part):
        return namespace(part).sum(part, axis=0)
    return part.T @ np.ones(part.shape[0])
