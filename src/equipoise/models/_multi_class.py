"""Linear models of several classes: one score per row and class."""

from __future__ import annotations

from copy import copy
from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise._array import Array, namespace
from equipoise.models._features import Features
from equipoise.models._linear import LinearModel, linear_scores
from equipoise.models._model import Model, ModelPoint
from equipoise.models._units import LinearUnits


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

    linear = True

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
        self.intercept = _check.flag("MultiClassLinearModel", "intercept", intercept)
        self.n_rows, d = self.features.shape
        self.dim = self.n_classes * (d + self.intercept)
        block = np.r_[np.ones(d), np.zeros(int(self.intercept))]
        self.penalised = np.tile(block, self.n_classes)
        self.rounding = 1e-16 if self.features.dtype.itemsize >= 8 else 1e-7

    def at(self, x: Array) -> ModelPoint:
        """Evaluate the scores (n, K): one product with `A`."""
        return ModelPoint(self._push(x), self._pull, self._push, pull_rows=self._pull_rows)

    def predicted(self, x: np.ndarray) -> np.ndarray:
        """Return the scores computed from `coefficients`, as predictions are."""
        return linear_scores(self.features.A, *self.units.coefficients(x))

    def _push(self, v: Array) -> Array:
        V = namespace(v).reshape(v, (self.n_classes, -1))
        if not self.intercept:
            return self.features.times(V.T)
        scores = self.features.times(V[:, :-1].T)
        return scores + namespace(scores).astype(V[:, -1], scores.dtype)

    def _pull(self, gradient: Array) -> Array:
        """Return the parameter-gradient (dim,) of a score-gradient (n, K)."""
        return self._pulled(self.features, gradient)

    def _pull_rows(self, rows: np.ndarray, gradient: Array) -> Array:
        """Return the parameter-gradient of a score-gradient that is 0 for all other rows."""
        return self._pulled(self.features.rows(rows), gradient)

    def _pulled(self, features: Features, gradient: Array) -> Array:
        pulled = features.transposed(gradient).T
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
    def lengths(self) -> Array:
        """The length of each row, the 1 of the intercept included; a tensor where the features are one."""
        squares = self.features.squared_norms + self.intercept
        return namespace(squares).sqrt(squares)

    @property
    def units(self) -> LinearUnits:
        """How parameters relate to coefficients of the columns of `A`."""
        features = self.features
        sizes = features.shape[1], self.intercept
        return LinearUnits(*sizes, features.scale, features.center, self.n_classes)

    def coefficients(self, x: Array) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (K, d) and intercepts (K,) in the units of `A`."""
        return self.units.coefficients(x)

    def parameters(self, coef: Any, intercept: Any = 0.0) -> np.ndarray:
        """Return the `x` of weights and intercepts in the units of `A`; undoes `coefficients`."""
        shape, given = (self.n_classes, self.features.shape[1]), np.shape(coef)
        if given != shape:
            _check.fail("MultiClassLinearModel", "coef", f"must have shape {shape}", given)
        return self.units.parameters(coef, intercept)


def linear_model(X: Any, units: LinearUnits) -> LinearModel | MultiClassLinearModel:
    """Return the linear model of the rows of `X` in these units."""
    _check.kind("linear_model", "units", units, LinearUnits)
    if units.n_classes is None:
        return LinearModel(X, units.intercept, units.scale, units.center)
    return MultiClassLinearModel(X, units.n_classes, units.intercept, units.scale, units.center)
