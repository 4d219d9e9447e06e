"""A sketch: some rows of a linear model, ready for estimates of second derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from equipoise.models.linear import LinearModel

LEAST, MOST = 2048, 16384  # rows of a sketch
CHUNK = 512  # rows handled at a time
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
        self.index, self._mass = np.arange(n), np.ones(n)
        if n > 2 * size:
            squares = model.features.squared_columns
            leverage = model.features.squares_of(1.0 / (n * np.maximum(squares, 1e-300))) + 1 / n
            share = np.minimum(1.0, 0.5 * size * (leverage / leverage.sum() + 1 / n))
            self.index = np.flatnonzero(np.random.default_rng(0).random(n) < share)
            self._mass = 1.0 / share[self.index]
        self._model = model.rows(self.index)
        A, scale = self._model.features.A, self._model.features.scale
        if d > WIDE:
            squares = sparse.csr_array(A, dtype=np.float64).power(2)
            self._squares = squares if scale is None else squares @ sparse.diags_array(scale**-2.0)
            return
        self._rows = np.ones((len(self.index), d), dtype=np.float32)
        center = 0.0 if self._model.features.center is None else self._model.features.center
        for start in range(0, len(self.index), CHUNK):  # centred before it is rounded
            part = A[start : start + CHUNK]
            part = part.toarray() if sparse.issparse(part) else part
            self._rows[start : start + CHUNK, : A.shape[1]] = (part - center) / (
                1.0 if scale is None else scale
            )

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Return the scores of the rows."""
        return self._model.scores(x)

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """Return ``J' diag(weights) J`` for ``weights >= 0``, with `J` the derivative of the scores.

        A matrix (dim, dim), summed in single precision, or its diagonal (dim,), centring left out,
        if there are many parameters.
        """
        weights = self._mass * weights
        if self._model.dim > WIDE:
            diagonal = self._squares.T @ weights
            return np.append(diagonal, weights.sum()) if self._model.intercept else diagonal
        roots = np.sqrt(weights, dtype=np.float32, casting="same_kind")[:, None]
        rows = self._rows * roots
        return (rows.T @ rows).astype(np.float64)
