"""Row weights: the sparse matrix that turns a function of the scores into rates."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise._array import Array, like, namespace, to_numpy
from equipoise.terms._placed import Placed


class RowWeights:
    """A sparse ``n x R`` matrix `W`; ``W' phi`` are R rates, weighted sums over rows.

    Stored by rows, so that a mini-batch costs what it holds. NumPy arrays are multiplied in
    float64, by the non-zeros only. For tensors a dense copy is made on the tensor's device when
    first needed (``R n`` numbers: meant for the mini-batches of a network).

    Parameters
    ----------
    matrix : sparse matrix or array of shape (n, R)
    """

    def __init__(self, matrix: Any) -> None:
        if not sparse.issparse(matrix):
            matrix = _check.matrix("RowWeights", "matrix", matrix, "n", "R")
        self.matrix = sparse.csr_array(matrix, dtype=np.float64)
        _check.finite("RowWeights", "matrix", self.matrix.data)
        self._prepare()

    def _prepare(self) -> None:
        self._transposed = self.matrix.T  # a view
        self._dense = Placed(self.matrix.toarray)
        self._moments: Any = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of the data, and rates."""
        return self.matrix.shape

    def rates(self, phi: Array) -> np.ndarray:
        """Return ``W' phi`` of shape (R,), NumPy float64."""
        if isinstance(phi, np.ndarray):
            return self._transposed @ phi
        return to_numpy(namespace(phi).matmul(phi, self._dense.at(phi)))

    def spread(self, coefficients: np.ndarray, scores: Array) -> Array:
        """Return ``W coefficients`` of shape (n,), like `scores`."""
        if isinstance(scores, np.ndarray):
            return (self.matrix @ coefficients).astype(scores.dtype, copy=False)
        return namespace(scores).matmul(self._dense.at(scores), like(coefficients, scores))

    def columns(self, index: np.ndarray, factor: Array) -> Any:
        """Return the columns `index` of ``diag(factor) W``, (n, k): sparse, or a tensor like `factor`."""
        if isinstance(factor, np.ndarray):
            return sparse.diags_array(factor) @ self.matrix[:, index]
        return self._dense.at(factor)[:, index.tolist()] * factor[:, None]

    def rows(self, index: np.ndarray, scale: float) -> RowWeights:
        """Return some rows, times `scale`."""
        part = object.__new__(RowWeights)
        part.matrix = self.matrix[index]
        part.matrix.data *= scale
        part._prepare()
        return part

    def moments(self, lengths: np.ndarray | None) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the `sides` of ``lengths**p``, p = 0, 1, 2 (0 alone without lengths).

        They are remembered for the same array `lengths`.
        """
        if self._moments is None or self._moments[0] is not lengths:
            powers = [np.ones(self.shape[0])]
            powers += [] if lengths is None else [lengths, lengths * lengths]
            self._moments = lengths, [self.sides(power) for power in powers]
        return self._moments[1]

    @cached_property
    def largest(self) -> np.ndarray:
        """The largest weight of a row in every rate, signs left out; shape (R,)."""
        largest = np.zeros(self.shape[1])
        np.maximum.at(largest, self.matrix.indices, np.abs(self.matrix.data))
        return largest

    @cached_property
    def used(self) -> np.ndarray:
        """Which rows have a weight, shape (n,)."""
        if self.matrix.data.all():
            return np.diff(self.matrix.indptr) > 0
        return np.asarray(abs(self.matrix).sum(axis=1)).ravel() > 0

    def sides(self, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what positive and what negative weights add to ``W' phi``, for ``phi >= 0``."""
        net = self._transposed @ phi
        if self.matrix.data.size == 0 or self.matrix.data.min() >= 0.0:
            return net, np.zeros_like(net)
        total = abs(self._transposed) @ phi
        return (total + net) / 2, (total - net) / 2

    def __getstate__(self) -> dict[str, Any]:
        return {"matrix": self.matrix}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.matrix = state["matrix"]
        self._prepare()
