"""A sketch: some rows of a linear model, ready for estimates of second derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dsyr2, dsyrk, ssyrk

from equipoise._array import Array, is_tensor, like, to_numpy
from equipoise.models._squares import column_sums

if TYPE_CHECKING:
    from equipoise.models._features import Features
    from equipoise.models._linear import LinearModel

# All constants here are chosen by `make peers` and `make scaling`; fits are not sensitive to factors of two.

# Sparse rows are made dense some at a time: at most this many entries, and from `FEWEST_DENSE_ROWS` to
# `DENSE_ROWS` rows.
DENSE_ENTRIES, DENSE_ROWS = 1 << 15, 1 << 10
FEWEST_DENSE_ROWS = 32

# With at most this many parameters, Gram matrices are made in double precision: single saves nothing.
DOUBLE_UP_TO = 32

# Dense rows are kept for the next time where they take at most this share of the data's memory.
KEPT_DENSE = 0.5
# With at most `DOUBLE_UP_TO` parameters they are also kept where they take at most this many bytes. Chosen:
# little beside what a process takes that has loaded its libraries.
KEPT_ANYWAY = 1 << 20

# Rows with a smaller share of entries that are not 0 stay sparse in Gram matrices.
SPARSE_UP_TO = 0.025

# Where a column's centre is farther from 0 than this many of its scales, the data are centred before the
# product: after it, no digits would be left.
CENTRE_TOO_FAR = 1e4


class Sketch:
    """Some rows of a model, each standing for several.

    Parameters
    ----------
    model : LinearModel
    diagonal : bool
        Whether only the diagonal of Gram matrices is made.
    index : ndarray, optional
        The rows; by default all.
    mass : ndarray, optional
        How many rows each of them stands for; by default 1.

    Attributes
    ----------
    index : ndarray, or range where it is all
    """

    def __init__(
        self,
        model: LinearModel,
        diagonal: bool,
        index: np.ndarray | None = None,
        mass: np.ndarray | None = None,
    ) -> None:
        n, d = model.n_rows, model.dim
        self.diagonal = diagonal
        self.index: np.ndarray | range = range(n) if index is None else index
        self._mass: Any = 1.0 if mass is None else mass
        whole = len(self.index) == n
        self._features = model.features if whole else model.features.rows(np.asarray(self.index))
        self._intercept = model.intercept
        self._rows: Array | None = None  # all of J, where that is little beside the data
        self._sparse = _stays_sparse(self._features)
        self._dtype = np.dtype(np.float64 if d <= DOUBLE_UP_TO else np.float32)
        size = self._dtype.itemsize * len(self.index) * d
        least = KEPT_ANYWAY if d <= DOUBLE_UP_TO else 0  # these are needed in every step
        small = size <= max(KEPT_DENSE * _bytes(model.features.A), least)
        if not self._features.on_host:
            self._rows = None if diagonal else self._features.jacobian(self._intercept)
        elif small and not self.diagonal and not self._sparse and len(self.index):
            self._rows = np.vstack([self._dense(some) for some in self._pieces()])

    @property
    def is_exact(self) -> bool:
        """Whether Gram matrices are of all rows, and exact but for rounding in double precision."""
        whole = isinstance(self.index, range) and self._features.dtype.itemsize >= 8
        whole = whole or (isinstance(self.index, range) and self._features.on_host)
        return whole and not self.diagonal and self._dtype == np.float64 and not self._sparse

    def product_of_all(self, weights: Array) -> np.ndarray:
        """Return ``J' diag(weights) J`` (dim, dim) for weights of any sign."""
        if self._rows is not None and is_tensor(self._rows):
            return to_numpy(self._rows.T @ (self._rows * like(weights, self._rows)[:, None]))
        d, weights = self._features.shape[1] + self._intercept, to_numpy(weights)
        total = np.zeros((d, d))
        for some in self._pieces():
            rows = self._dense(some) if self._rows is None else self._rows[some]
            total += rows.T @ (weights[some, None] * rows)
        return total

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Return the scores of the rows."""
        if not self._intercept:
            return to_numpy(self._features.times(x))
        return to_numpy(self._features.times(x[:-1], float(x[-1])))

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """Return ``J' diag(weights) J`` for ``weights >= 0``, with `J` the derivative of the scores.

        The lower triangle of a matrix (dim, dim), whatever stands above it, in single precision
        unless parameters are few or rows very sparse; or its diagonal (dim,), centring left out.
        """
        weights = self._mass * weights
        d = self._features.shape[1] + self._intercept
        if self.diagonal:
            diagonal = column_sums(self._features, weights)
            return np.append(diagonal, weights.sum()) if self._intercept else diagonal
        if self._rows is not None and is_tensor(self._rows):
            weighted = self._rows * like(weights, self._rows)[:, None]
            return np.asfortranarray(to_numpy(self._rows.T @ weighted), dtype=self._dtype)
        if self._sparse:
            return _sparse_gram(self._features, weights, self._intercept)
        roots = np.sqrt(weights, dtype=self._dtype, casting="same_kind")[:, None]
        total = np.zeros((d, d), dtype=self._dtype, order="F")
        add_square = ssyrk if self._dtype == np.float32 else dsyrk
        for some in self._pieces():
            if self._rows is None:
                rows = self._dense(some)
                rows *= roots[some]
            else:
                rows = self._rows[some] * roots[some]
            total = add_square(1.0, rows.T, 1.0, total, lower=1, overwrite_c=1)
        return total

    def _pieces(self) -> Iterator[slice]:
        """Yield the rows, some at a time."""
        n, d = len(self.index), self._features.shape[1]
        entries = min(DENSE_ENTRIES, _bytes(self._features.A) // 64)  # an eighth of the data
        rows = min(max(FEWEST_DENSE_ROWS, entries // d), DENSE_ROWS)
        return (slice(start, min(start + rows, n)) for start in range(0, n, rows))

    def _dense(self, some: slice) -> np.ndarray:
        """Return some rows of J."""
        d = self._features.shape[1]
        rows = np.ones((some.stop - some.start, d + self._intercept), dtype=self._dtype)
        self._features.dense(some, rows[:, :d])
        return rows


def _sparse_gram(features: Features, weights: np.ndarray, intercept: bool) -> np.ndarray:
    """Return the matrix of `gram` from products of the entries of sparse rows, centred afterwards."""
    A, d, total = features.A, features.shape[1], float(weights.sum())
    entries = A.data * np.repeat(np.sqrt(weights), np.diff(A.indptr))
    rows = sparse.csr_array((entries, A.indices, A.indptr), shape=A.shape)
    gram = (rows.T @ rows).toarray(order="F")
    sums = A.T @ weights
    if features.center is not None:
        gram = dsyr2(1.0, features.center, 0.5 * total * features.center - sums, a=gram, lower=1)
        sums = sums - total * features.center
    if features.scale is not None:
        gram /= features.scale[:, None]
        gram /= features.scale
        sums = sums / features.scale
    return np.block([[gram, np.zeros((d, 1))], [sums, total]]) if intercept else gram


def _stays_sparse(features: Features) -> bool:
    """Whether products of entries are few, and may be centred afterwards: not for columns far from 0."""
    A = features.A
    if not sparse.issparse(A) or A.nnz > SPARSE_UP_TO * A.shape[0] * A.shape[1]:
        return False
    scale = 1.0 if features.scale is None else features.scale
    return features.center is None or bool(
        (np.abs(features.center) <= CENTRE_TOO_FAR * scale).all()
    )


def _bytes(A: Any) -> int:
    return A.data.nbytes + A.indices.nbytes if sparse.issparse(A) else A.nbytes
