"""A sketch: some rows of a linear model, ready for estimates of second derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.linalg.blas import ssyrk

if TYPE_CHECKING:
    from equipoise.models.linear import LinearModel

LEAST, MOST = 2048, 16384  # rows of a sketch
PIECE, CHUNK = 1 << 15, 1 << 10  # entries made dense at a time, and rows, at the most
FEW = 32  # rows made dense at a time, at the least
LITTLE = 0.5  # of the data's memory, for rows that are kept dense
NARROW, WIDE = 64, 600  # parameters of which a matrix is made, and is not made
KINKED = 1200  # parameters of which a matrix is made for functions with rounded kinks
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
        if not self.wide and 4 * len(self.index) * d <= LITTLE * _bytes(model.features.A):
            self._rows = np.vstack([self._dense(some) for some in self._pieces()])

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Return the scores of the rows."""
        if not self._intercept:
            return self._features.times(x)
        return self._features.times(x[:-1]) + float(x[-1])

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """Return ``J' diag(weights) J`` for ``weights >= 0``, with `J` the derivative of the scores.

        The lower triangle of a matrix (dim, dim), in single precision, or its diagonal (dim,),
        centring left out, if there are many parameters.
        """
        weights = self._mass * weights
        d = self._features.shape[1] + self._intercept
        if self.wide:
            diagonal = self._features.squares_under(weights)
            return np.append(diagonal, weights.sum()) if self._intercept else diagonal
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


def _bytes(A: Any) -> int:
    return A.data.nbytes + A.indices.nbytes if sparse.issparse(A) else A.nbytes
