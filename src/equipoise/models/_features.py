"""Features: a dense or sparse matrix, centred and scaled without being changed."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise._array import Array, like, namespace, placed, quiet
from equipoise.models._feature_input import checked_matrix
from equipoise.models._squares import row_sums

# The bytes of data that stay in the cache of a core between two products with them. Chosen: a second-level
# cache has about as many.
CACHE_BYTES = 1 << 20

# A gradient that is 0 but for at most this share of the scores is pulled back from those rows alone.
# Chosen.
FEW_ROWS = 1 / 32


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
        self.A = checked_matrix(A)
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

    @quiet
    def times(self, V: Array, offset: float = 0.0) -> Array:
        """Return ``B V + offset`` for `V` of shape (d,) or (d, K): one product with `A`."""
        V = self._cast(V)
        if self._inverse is not None:
            V = _rows(self._inverse, V) * V
        scores = self.A @ V
        if self._center is not None:
            scores = scores - self._center @ V
        return scores + offset if offset else scores

    @quiet
    def transposed(self, G: Array, total: Array | None = None) -> Array:
        """Return ``B' G`` for `G` of shape (n,) or (n, K): one product with ``A'``.

        `total` is the sum of the rows of `G`, where it is known.
        """
        G = self._cast(G)
        pulled = self._pulled(G)  # changed in place: columns can be many
        if self._center is not None:
            total = namespace(G).sum(G, axis=0) if total is None else total
            pulled -= (
                self._center * total if G.ndim == 1 else self._center[:, None] * total[None, :]
            )
        if self._inverse is not None:
            pulled *= _rows(self._inverse, pulled)
        return pulled

    @quiet
    def transposed_columns(self, G: Any) -> Array:
        """Return ``G' B`` of shape (k, d) for `G` of shape (n, k), which may be sparse."""
        if not sparse.issparse(G):
            return self.transposed(G).T
        G = G.astype(self.dtype, copy=False)
        pulled = G.T @ self.A
        pulled = pulled.toarray() if sparse.issparse(pulled) else pulled
        if self._center is not None:
            pulled = pulled - np.outer(G.sum(axis=0), self._center)
        return pulled if self._inverse is None else pulled * self._inverse

    def _pulled(self, G: Array) -> Array:
        """Return ``A' G``, from the rows alone where few of them count."""
        few = self._host and G.ndim == 1 and not G[:8].any()
        if few and np.count_nonzero(G) <= FEW_ROWS * G.size:
            index = np.flatnonzero(G)
            return self.A[index].T @ G[index]
        return self._transposed @ G

    @quiet
    def sandwich(self, weights: Array, v: Array, offset: float) -> tuple[Array, float]:
        """Return ``B' u`` and the sum of `u`, with ``u = weights * (B v + offset)``.

        A dense `A` is read once, in pieces that stay in the cache of a core for both products.
        """
        if not isinstance(self.A, np.ndarray):
            u = self._cast(weights) * self.times(v, offset)
            total = namespace(u).sum(u)
            return self.transposed(u, total), float(total)
        v, weights = self._cast(v), self._cast(weights)
        v = v if self._inverse is None else self._inverse * v
        constant = offset if self._center is None else offset - float(self._center @ v)
        pulled, total = np.zeros_like(v), 0.0
        rows = max(64, CACHE_BYTES // self.A.strides[0]) if self.A.strides[0] > 0 else self.shape[0]
        for start in range(0, self.shape[0], rows):
            part = self.A[start : start + rows]
            u = part @ v
            u += constant
            u *= weights[start : start + rows]
            pulled += part.T @ u
            total += float(u.sum())
        if self._center is not None:
            pulled -= total * self._center
        return pulled if self._inverse is None else self._inverse * pulled, total

    def rows(self, index: np.ndarray) -> Features:
        """Return some rows, scaled in the same way."""
        return self._like(self.A[placed(index, self.A)])

    def gathered(self) -> Features:
        """Return the rows held by NumPy or SciPy."""
        return self if self._host else self._like(self.A.detach().cpu().numpy())

    def _like(self, A: Any) -> Features:
        part = object.__new__(Features)
        part.A, part.scale, part.center = A, self.scale, self.center
        part._prepare()
        return part

    @property
    def on_host(self) -> bool:
        """Whether NumPy or SciPy hold the matrix, not a tensor library."""
        return self._host

    @property
    def squared_norms(self) -> Array:
        """The squared length of every row of `B`, shape (n,); a tensor where the features are one."""
        return row_sums(self, np.ones(self.shape[1]))

    def dense(self, rows: slice, out: np.ndarray) -> None:
        """Write some rows of `B` into `out`; they are rounded after they are centred."""
        d = self.shape[1]
        center = np.zeros(d) if self.center is None else self.center
        scale = np.ones(d) if self.scale is None else self.scale
        if not self.is_sparse:
            np.divide(self.A[rows] - center, scale, out=out, casting="same_kind")
            return
        ends = self.A.indptr[rows.start : rows.stop + 1]
        columns = self.A.indices[ends[0] : ends[-1]]
        entries = (self.A.data[ends[0] : ends[-1]] - center[columns]) / scale[columns]
        out[:] = -center / scale
        out[np.repeat(np.arange(len(ends) - 1), np.diff(ends)), columns] = entries

    def jacobian(self, intercept: bool) -> Array:
        """Return `B` of a tensor as one, with a column of ones for an intercept."""
        rows = self.A if self._center is None else self.A - self._center
        rows = rows if self._inverse is None else rows * self._inverse
        xp = namespace(rows)
        return xp.concat([rows, xp.ones_like(rows[:, :1])], axis=1) if intercept else rows

    def _cast(self, V: Array) -> Array:
        """Match the dtype of `A`, which would otherwise be converted in every product."""
        if self._host:
            return np.asarray(V, dtype=self.dtype)
        return like(V, self.A)


def _rows(vector: Array, V: Array) -> Array:
    return vector if V.ndim == 1 else vector[:, None]
