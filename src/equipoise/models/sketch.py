"""A sketch: some rows of a linear model, ready for estimates of second derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from equipoise.models.linear import LinearModel

LEAST, MOST = 2048, 16384  # rows of a sketch
PIECE, CHUNK = 1 << 15, 1 << 10  # entries made dense at a time, and rows
WIDE = 600  # more parameters than this: no matrices of their square


def _size(A: Any, d: int) -> int:
    """Rows enough for an estimate, and so many that their Gram matrix costs about one Hessian product."""
    if d > WIDE:
        return LEAST
    entries = A.nnz if sparse.issparse(A) else A.size
    return int(min(max(10 * entries / d**2, LEAST, min(16 * d, 2 * LEAST)), MOST))


class Sketch:
    """A random sample of the rows, the same in every call; all of them where they are few.

    Parameters
    ----------
    model : LinearModel
        With its features in NumPy or SciPy.

    Attributes
    ----------
    index : ndarray
        The rows.
    """

    def __init__(self, model: LinearModel) -> None:
        n, d = model.n_rows, model.dim
        size = _size(model.features.A, d)
        self.index = np.arange(n)
        self._mass: Any = 1.0  # of a row
        if n > 2 * size:
            squares = model.features.squared_columns
            leverage = model.features.squares_of(1.0 / (n * np.maximum(squares, 1e-300))) + 1 / n
            share = np.minimum(1.0, 0.5 * size * (leverage / leverage.sum() + 1 / n))
            self.index = np.flatnonzero(np.random.default_rng(0).random(n) < share)
            self._mass = 1.0 / share[self.index]
        whole = len(self.index) == n
        self._features = model.features if whole else model.features.rows(self.index)
        self._intercept = model.intercept

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Return the scores of the rows."""
        if not self._intercept:
            return self._features.times(x)
        return self._features.times(x[:-1]) + float(x[-1])

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """Return ``J' diag(weights) J`` for ``weights >= 0``, with `J` the derivative of the scores.

        A matrix (dim, dim), summed in single precision, or its diagonal (dim,), centring left out,
        if there are many parameters.
        """
        weights = self._mass * weights
        d = self._features.shape[1] + self._intercept
        if d > WIDE:
            A, scale = self._features.A.astype(np.float64, copy=False), self._features.scale
            diagonal = (A.power(2) if sparse.issparse(A) else A**2).T @ weights
            diagonal = diagonal if scale is None else diagonal / scale**2
            return np.append(diagonal, weights.sum()) if self._intercept else diagonal
        roots = np.sqrt(weights, dtype=np.float32, casting="same_kind")[:, None]
        total, piece = np.zeros((d, d), dtype=np.float32), min(max(64, PIECE // d), CHUNK)
        for start in range(0, len(roots), piece):
            some = slice(start, start + piece)
            rows = np.ones((len(roots[some]), d), dtype=np.float32)
            rows[:, : self._features.shape[1]] = self._features.dense(some)
            rows *= roots[some]
            total += rows.T @ rows
        return total.astype(np.float64)
