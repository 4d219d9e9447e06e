"""Linear models of several classes: one score per row and class."""

from __future__ import annotations

from copy import copy
from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise._array import Array, namespace, to_numpy
from equipoise.models.features import Features
from equipoise.models.model import Model


@final
class MultiClassLinearModel(Model):
    """Scores ``(n, K)``: one linear model per class, ``x = (w_1, b_1, ..., w_K, b_K)``.

    Parameters
    ----------
    A : array, tensor or sparse matrix of shape (n, d)
    n_classes : int
        The number `K` of classes.
    intercept, scale, center : as in `LinearModel`.
    """

    def __init__(
        self,
        A: Any,
        n_classes: int,
        intercept: bool = True,
        scale: Any = None,
        center: Any = None,
    ) -> None:
        self.features = Features(A, scale, center)
        self.n_classes = _check.count("MultiClassLinearModel", "n_classes", n_classes, least=2)
        self.intercept = bool(intercept)
        self.n_rows, d = self.features.shape
        self.dim = self.n_classes * (d + self.intercept)
        block = np.r_[np.ones(d), np.zeros(int(self.intercept))]
        self.penalised = np.tile(block, self.n_classes)

    def scores(self, x: Array) -> Array:
        """Return the scores (n, K): one product with `A`."""
        X = self._blocks(x)
        if not self.intercept:
            return self.features.times(X.T)
        scores = self.features.times(X[:, :-1].T)
        return scores + namespace(scores).astype(X[:, -1], scores.dtype)

    def pull(self, gradient: Array) -> Array:
        """Return the parameter-gradient (dim,) of a score-gradient (n, K)."""
        pulled = self.features.transposed(gradient).T
        xp = namespace(pulled)
        if self.intercept:
            total = xp.sum(gradient, axis=0, dtype=pulled.dtype)
            pulled = xp.concat([pulled, total[:, None]], axis=1)
        return xp.reshape(pulled, (self.dim,))

    def rows(self, index: np.ndarray) -> MultiClassLinearModel:
        """Return the model of some rows."""
        part = copy(self)
        part.features = self.features.rows(index)
        part.n_rows = len(index)
        return part

    @property
    def norms(self) -> np.ndarray:
        """The length of each row, the 1 of the intercept included."""
        return np.sqrt(self.features.squared_norms + self.intercept)

    def coefficients(self, x: Array) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (K, d) and intercepts (K,) in the units of `A`."""
        X = self._blocks(to_numpy(x))
        W = X[:, :-1] if self.intercept else X
        b = X[:, -1] if self.intercept else np.zeros(self.n_classes)
        coef = W if self.features.scale is None else W / self.features.scale
        return coef, b if self.features.center is None else b - coef @ self.features.center

    def parameters(self, coef: Any, intercept: Any = None) -> np.ndarray:
        """Return the `x` of weights and intercepts in the units of `A`; undoes `coefficients`."""
        shape = (self.n_classes, self.features.shape[1])
        coef = np.asarray(coef, dtype=np.float64)
        if coef.shape != shape:
            _check.fail("MultiClassLinearModel", "coef", f"must have shape {shape}", coef.shape)
        W = coef if self.features.scale is None else coef * self.features.scale
        if not self.intercept:
            return W.ravel()
        b = np.zeros(self.n_classes) if intercept is None else np.asarray(intercept, np.float64)
        b = b if self.features.center is None else b + coef @ self.features.center
        return np.column_stack((W, b)).ravel()

    def _blocks(self, x: Array) -> Array:
        return namespace(x).reshape(x, (self.n_classes, -1))
