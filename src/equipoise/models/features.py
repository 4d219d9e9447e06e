"""Features: a dense or sparse matrix, centred and scaled without being changed."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise._array import Array, like, namespace, to_numpy

CHUNK = 1 << 12  # rows handled at a time, so that no copy of the data is made


class Features:
    """The matrix ``B = (A - center) / scale`` as an operator; `A` itself is not touched.

    A sparse `A` is kept by rows (CSR) and never made dense; its transposed products run over the
    same memory, measured to be as fast as over a transposed copy.

    Parameters
    ----------
    A : array, tensor or sparse matrix of shape (n, d)
        Floating point is kept (float32 stays float32); other numbers become float64.
    scale, center : array of shape (d,), optional
        By default 1 and 0.
    """

    def __init__(self, A: Any, scale: Any = None, center: Any = None) -> None:
        self.A = _matrix(A)
        d = self.A.shape[1]
        self.scale = None if scale is None else _check.vector("Features", "scale", scale, d)
        if self.scale is not None and not (self.scale > 0).all():
            column = int(np.flatnonzero(~(self.scale > 0))[0])
            raise ValueError(
                f"Features: `scale` must be positive, but column {column} has "
                f"{self.scale[column]}. Give constant columns the scale 1."
            )
        self.center = None if center is None else _check.vector("Features", "center", center, d)
        self._prepare()

    def _prepare(self) -> None:
        A = self.A
        self.is_sparse = sparse.issparse(A)
        self._transposed = A.T  # a view
        self._host = self.is_sparse or isinstance(A, np.ndarray)
        one: Any = A[:1].data if self.is_sparse else A[:1, :1]
        self._inverse = None if self.scale is None else like(1.0 / self.scale, one)
        self._center = None if self.center is None else like(self.center, one)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.A.shape[0], self.A.shape[1]

    @property
    def dtype(self) -> Any:
        """The dtype of the matrix, and of its products."""
        return self.A.dtype

    def times(self, V: Array) -> Array:
        """Return ``B V`` for `V` of shape (d,) or (d, K): one product with `A`."""
        V = self._cast(V)
        if self._inverse is not None:
            V = _rows(self._inverse, V) * V
        scores = self.A @ V
        return scores if self._center is None else scores - self._center @ V

    def transposed(self, G: Array) -> Array:
        """Return ``B' G`` for `G` of shape (n,) or (n, K): one product with ``A'``."""
        G = self._cast(G)
        pulled = self._transposed @ G
        if self._center is not None:
            total = namespace(G).sum(G, axis=0)
            pulled = pulled - (
                self._center * total if G.ndim == 1 else self._center[:, None] * total[None, :]
            )
        return pulled if self._inverse is None else _rows(self._inverse, pulled) * pulled

    def rows(self, index: np.ndarray) -> Features:
        """Return some rows, scaled in the same way."""
        part = object.__new__(Features)
        part.A, part.scale, part.center = self.A[index], self.scale, self.center
        part._prepare()
        return part

    @cached_property
    def squared_norms(self) -> np.ndarray:
        """The squared length of every row of `B`, shape (n,), computed in small pieces."""
        n, d = self.shape
        inverse = np.ones(d) if self.scale is None else 1.0 / self.scale**2
        shifted = np.zeros(d) if self.center is None else self.center * inverse
        constant = 0.0 if self.center is None else float(self.center @ shifted)
        pieces = []
        for start in range(0, n, CHUNK):
            part: Any = self.A[start : start + CHUNK]
            part = part.astype(np.float64) if self.is_sparse else to_numpy(part)
            squares = part.multiply(part) if self.is_sparse else part * part
            pieces.append(squares @ inverse - 2.0 * (part @ shifted) + constant)
        return np.maximum(np.concatenate(pieces), 0.0) if pieces else np.zeros(0)

    def _cast(self, V: Array) -> Array:
        """Match the dtype of `A`, which would otherwise be converted in every product."""
        if self._host:
            return np.asarray(V, dtype=self.dtype)
        return like(V, self.A)


def _rows(vector: Array, V: Array) -> Array:
    return vector if V.ndim == 1 else vector[:, None]


def _matrix(A: Any) -> Any:
    owner = "Features"
    if sparse.issparse(A):
        A = sparse.csr_array(A)
        A = A if A.dtype.kind == "f" else A.astype(np.float64)
        _check.finite(owner, "A", A.data)
    elif hasattr(A, "detach"):
        A = A.detach()
    else:
        A = np.asarray(A)
        try:
            A = A if A.dtype.kind == "f" else A.astype(np.float64)
        except (TypeError, ValueError):
            _check.fail(owner, "A", "must be a matrix of numbers", A.dtype)
        _check.finite(owner, "A", A)
    if A.ndim != 2 or A.shape[0] == 0 or A.shape[1] == 0:
        _check.fail(owner, "A", "must have shape (n, d) with n, d >= 1", tuple(A.shape))
    return A
