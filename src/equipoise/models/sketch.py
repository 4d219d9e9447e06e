"""A sketch: some rows of a linear model, ready for estimates of second derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dsyr2, ssyrk

if TYPE_CHECKING:
    from equipoise.models.features import Features
    from equipoise.models.linear import LinearModel

LEAST, MOST = 2048, 16384  # rows of a sketch
PIECE, CHUNK = 1 << 15, 1 << 10  # entries made dense at a time, and rows, at the most
FEW = 32  # rows made dense at a time, at the least
LITTLE = 0.5  # of the data's memory, for rows that are kept dense
NARROW, WIDE = 64, 600  # parameters of which a matrix is made, and is not made
KINKED = 2000  # parameters of which a matrix is made for functions with rounded kinks
SPARSE, FAR = 0.025, 1e4  # the density up to which rows stay sparse; far from 0, in scales
ENTRIES = 4  # of sparse data for each number of a matrix between the two, for it to pay


def _size(A: Any, d: int) -> int:
    """Rows enough for an estimate, and so many that their Gram matrix costs about one Hessian product."""
    entries = A.nnz if sparse.issparse(A) else A.size
    return int(min(max(10 * entries / d**2, LEAST, min(16 * d, 2 * LEAST)), MOST))


def _is_wide(A: Any, d: int) -> bool:
    """Whether parameters are too many for a matrix of their square."""
    return d > WIDE or (d > NARROW and sparse.issparse(A) and A.nnz < ENTRIES * d * d)


class Sketch:
    """A random sample of the rows, the same in every call; all of them where they are few.

    All of them, too, where parameters are many: a diagonal is cheap, and every column needs rows.

    Parameters
    ----------
    model : LinearModel
        With its features in NumPy or SciPy.
    wide : bool, optional
        Whether parameters are many; by default found out.

    Attributes
    ----------
    wide : bool
    index : ndarray, or range where it is all
        The rows.
    """

    def __init__(self, model: LinearModel, wide: bool | None = None) -> None:
        n, d = model.n_rows, model.dim
        self.wide = _is_wide(model.features.A, d) if wide is None else wide
        size = _size(model.features.A, d)
        self.index: np.ndarray | range = range(n)
        self._mass: Any = 1.0  # of a row
        if n > 2 * size and not self.wide:
            squares = model.features.squared_columns
            leverage = model.features.squares_of(1.0 / (n * np.maximum(squares, 1e-300))) + 1 / n
            share = np.minimum(1.0, 0.5 * size * (leverage / leverage.sum() + 1 / n))
            self.index = np.flatnonzero(np.random.default_rng(0).random(n) < share)
            self._mass = 1.0 / share[self.index]
        whole = len(self.index) == n
        self._features = model.features if whole else model.features.rows(np.asarray(self.index))
        self._intercept = model.intercept
        self._rows: np.ndarray | None = None  # all of J, where that is little beside the data
        self._sparse = _is_sparse(self._features)
        small = 4 * len(self.index) * d <= LITTLE * _bytes(model.features.A)
        if small and not self.wide and not self._sparse:
            self._rows = np.vstack([self._dense(some) for some in self._pieces()])

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Return the scores of the rows."""
        if not self._intercept:
            return self._features.times(x)
        return self._features.times(x[:-1]) + float(x[-1])

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """Return ``J' diag(weights) J`` for ``weights >= 0``, with `J` the derivative of the scores.

        The lower triangle of a matrix (dim, dim), whatever stands above it, in single precision
        unless rows are very sparse; or its diagonal (dim,), centring left out, if there are many parameters.
        """
        weights = self._mass * weights
        d = self._features.shape[1] + self._intercept
        if self.wide:
            diagonal = self._features.squares_under(weights)
            return np.append(diagonal, weights.sum()) if self._intercept else diagonal
        if self._sparse:
            return _sparse_gram(self._features, weights, self._intercept)
        roots = np.sqrt(weights, dtype=np.float32, casting="same_kind")[:, None]
        total = np.zeros((d, d), dtype=np.float32, order="F")
        for some in self._pieces():
            if self._rows is None:
                rows = self._dense(some)
                rows *= roots[some]
            else:
                rows = self._rows[some] * roots[some]
            total = ssyrk(1.0, rows.T, 1.0, total, lower=1, overwrite_c=1)
        return total

    def _pieces(self) -> Iterator[slice]:
        """Yield the rows, some at a time."""
        n, d = len(self.index), self._features.shape[1]
        entries = min(PIECE, _bytes(self._features.A) // 64)  # an eighth of the data as float64
        rows = min(max(FEW, entries // d), CHUNK)
        return (slice(start, min(start + rows, n)) for start in range(0, n, rows))

    def _dense(self, some: slice) -> np.ndarray:
        """Return some rows of J in single precision."""
        d = self._features.shape[1]
        rows = np.ones((some.stop - some.start, d + self._intercept), dtype=np.float32)
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


def _is_sparse(features: Features) -> bool:
    """Whether products of entries are few, and may be centred afterwards: not for columns far from 0."""
    A = features.A
    if not sparse.issparse(A) or A.nnz > SPARSE * A.shape[0] * A.shape[1]:
        return False
    scale = 1.0 if features.scale is None else features.scale
    return features.center is None or bool((np.abs(features.center) <= FAR * scale).all())


def _bytes(A: Any) -> int:
    return A.data.nbytes + A.indices.nbytes if sparse.issparse(A) else A.nbytes
