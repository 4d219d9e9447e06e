"""Row weights: the matrix that turns a function of the scores into rates."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise._array import Array, like, namespace, to_numpy
from equipoise.terms._placed import Placed

# A matrix with at least this share of entries that are not 0 takes no more memory dense than sparse.
DENSE_FROM = 1 / 2

# Small matrices are dense from this share on: a product with them is then faster, at 4 rates on 6,000 to
# 32,000 rows by a factor of two. Measured with one product each.
SMALL_DENSE_FROM, SMALL_BYTES = 1 / 4, 1 << 21


class RowWeights:
    """An ``n x R`` matrix `W`; ``W' phi`` are R rates, weighted sums over rows.

    The mean over all rows, or the rates of two groups, are stored as R dense vectors, whose products
    are several times as fast as sparse ones; where most entries are 0, the matrix is sparse, by rows.
    NumPy arrays are multiplied in float64. For tensors a dense copy is made on the tensor's device
    when first needed (``R n`` numbers: meant for the mini-batches of a network).

    Parameters
    ----------
    matrix : sparse matrix or array of shape (n, R)
    """

    def __init__(self, matrix: Any) -> None:
        if not sparse.issparse(matrix):
            matrix = _check.matrix("RowWeights", "matrix", matrix, "n", "R")
        n, R = matrix.shape
        entries = matrix.nnz if sparse.issparse(matrix) else np.count_nonzero(matrix)
        least = SMALL_DENSE_FROM if 8 * n * R <= SMALL_BYTES else DENSE_FROM
        if entries >= least * n * R:
            by_rate = matrix.T.toarray() if sparse.issparse(matrix) else matrix.T
            self._store(np.ascontiguousarray(by_rate, dtype=np.float64))
        else:
            self._store(sparse.csr_array(matrix, dtype=np.float64))
        _check.finite("RowWeights", "matrix", self._entries)

    def _store(self, stored: Any) -> None:
        """Keep an array (R, n), or a sparse matrix (n, R) by rows."""
        self._dense = isinstance(stored, np.ndarray)
        self._by_rate = stored if self._dense else stored.T  # a view
        self._by_row = stored.T if self._dense else stored  # another: SciPy takes long to make one
        self._placed = Placed((lambda: stored.T) if self._dense else stored.toarray)
        self._moments: Any = None
        self.origin: Any = None  # what they were made from, where that is known

    @property
    def _entries(self) -> np.ndarray:
        """The numbers that are stored."""
        return self._by_rate if self._dense else self._by_rate.data

    @property
    def matrix(self) -> Any:
        """The matrix as a sparse one, by rows."""
        return sparse.csr_array(self._by_row)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of the data, and rates."""
        R, n = self._by_rate.shape
        return n, R

    def rates(self, phi: Array) -> np.ndarray:
        """Return ``W' phi`` of shape (R,), NumPy float64."""
        if isinstance(phi, np.ndarray):
            return self._by_rate @ phi
        return to_numpy(namespace(phi).matmul(phi, self._placed.at(phi)))

    def spread(self, coefficients: np.ndarray, scores: Array) -> Array:
        """Return ``W coefficients`` of shape (n,), like `scores`."""
        if not isinstance(scores, np.ndarray):
            return namespace(scores).matmul(self._placed.at(scores), like(coefficients, scores))
        if self._dense and len(coefficients) == 1:  # a product with a scalar is much faster
            found = float(coefficients[0]) * self._by_rate[0]
        else:
            found = self._by_row @ coefficients
        return found.astype(scores.dtype, copy=False)

    def columns(self, index: np.ndarray, factor: Array) -> Any:
        """Return the columns `index` of ``diag(factor) W``, (n, k): sparse, or an array like `factor`."""
        if not isinstance(factor, np.ndarray):
            return self._placed.at(factor)[:, index.tolist()] * factor[:, None]
        if self._dense:
            return (self._by_rate[index] * factor).T
        return sparse.diags_array(factor) @ self.matrix[:, index]

    def by_place(self, places: np.ndarray, count: int) -> np.ndarray:
        """Return the sums of the weights of the rows at each of `count` places, (count, R)."""
        n, R = self.shape
        if self._dense:
            sums = [np.bincount(places, weights, count) for weights in self._by_rate]
            return np.stack(sums, axis=1) if R else np.zeros((count, 0))
        inside = sparse.csr_array((np.ones(n), places, np.arange(n + 1)), shape=(n, count))
        return (inside.T @ self.matrix).toarray()

    def rows(self, index: np.ndarray, scale: float) -> RowWeights:
        """Return some rows, times `scale`."""
        part = object.__new__(RowWeights)
        part._store(self._by_rate[:, index] if self._dense else self.matrix[index])
        entries = part._entries
        entries *= scale
        return part

    def moments(self, lengths: Array | None) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the `sides` of ``lengths**p``, p = 0, 1, 2 (0 alone without lengths).

        They are remembered for the same array `lengths`.
        """
        if self._moments is None or self._moments[0] is not lengths:
            powers = [np.ones(self.shape[0])]
            if lengths is not None:
                own = to_numpy(lengths)
                powers += [own, own * own]
            self._moments = lengths, [self.sides(power) for power in powers]
        return self._moments[1]

    @cached_property
    def largest(self) -> np.ndarray:
        """The largest weight of a row in every rate, signs left out; shape (R,)."""
        if self._dense:
            return np.abs(self._by_rate).max(axis=1)
        largest, matrix = np.zeros(self.shape[1]), self.matrix
        np.maximum.at(largest, matrix.indices, np.abs(matrix.data))
        return largest

    @cached_property
    def used(self) -> np.ndarray:
        """Which rows have a weight, shape (n,)."""
        if self._dense:
            return self._by_rate.any(axis=0)
        if self.matrix.data.all():
            return np.diff(self.matrix.indptr) > 0
        return np.asarray(abs(self.matrix).sum(axis=1)).ravel() > 0

    def sides(self, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what positive and what negative weights add to ``W' phi``, for ``phi >= 0``."""
        net = self._by_rate @ phi
        if self._entries.size == 0 or self._entries.min() >= 0.0:
            return net, np.zeros_like(net)
        total = abs(self._by_rate) @ phi
        return (total + net) / 2, (total - net) / 2

    def __getstate__(self) -> dict[str, Any]:
        return {"stored": self._by_rate if self._dense else self.matrix}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._store(state["stored"])
