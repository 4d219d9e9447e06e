"""Linear models: one score per row, or one per class."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise._array import Array, namespace, to_numpy
from equipoise.models.features import Features
from equipoise.models.model import Model
from equipoise.models.sketch import Sketch


@final
class LinearModel(Model):
    """Scores ``(A - center) / scale  w + b`` of parameters ``x = (w, b)``.

    Centring and scaling happen in the product, so features of very different size need no
    attention and a sparse matrix stays as it is.

    Parameters
    ----------
    A : array, tensor or sparse matrix of shape (n, d)
    intercept : bool, default True
        Whether there is a `b`, the last parameter.
    scale, center : array of shape (d,), optional
        Positive column scales and column centres; by default 1 and 0.

    Examples
    --------
    >>> import numpy as np
    >>> model = LinearModel(np.array([[1.0, 200.0], [3.0, 100.0]]), scale=[1, 100], center=[2, 150])
    >>> model.scores(np.array([1.0, 2.0, 0.5]))
    array([0.5, 0.5])
    >>> model.coefficients(np.array([1.0, 2.0, 0.5]))
    (array([1.  , 0.02]), -4.5)
    """

    def __init__(
        self, A: Any, intercept: bool = True, scale: Any = None, center: Any = None
    ) -> None:
        self.features = Features(A, scale, center)
        self.intercept = bool(intercept)
        self.n_rows, d = self.features.shape
        self.dim = d + self.intercept
        self.penalised = np.r_[np.ones(d), np.zeros(int(self.intercept))]
        self.sketchable = self.features.on_host
        self._scores, self._raw = Latest(), Latest()

    def scores(self, x: Array) -> Array:
        """Return the scores (n,): one product with `A`, none for the same `x` twice in a row."""
        host = isinstance(x, np.ndarray) and self.features.on_host
        return self._scores.at(x, self.push) if host else self.push(x)

    def raw_scores(self, x: np.ndarray) -> np.ndarray:
        """Return the scores as predictions compute them, from `coefficients`: they round differently."""
        return self._raw.at(x, self._multiplied)

    def _multiplied(self, x: np.ndarray) -> np.ndarray:
        A = self.features.A
        coef, intercept = self.coefficients(x)
        return np.asarray(A @ coef.astype(A.dtype, copy=False)) + np.float64(intercept)

    def push(self, v: Array) -> Array:
        """Return the change of the scores along the direction `v` of parameters."""
        if not self.intercept:
            return self.features.times(v)
        return self.features.times(v[:-1]) + float(v[-1])

    def pull(self, gradient: Array) -> Array:
        """Return the parameter-gradient (dim,) of a score-gradient (n,)."""
        pulled = self.features.transposed(gradient)
        if not self.intercept:
            return pulled
        xp = namespace(pulled)
        total = xp.sum(gradient, dtype=pulled.dtype)
        return xp.concat([pulled, xp.reshape(total, (1,))])

    def sandwich(self, weights: Array, v: Array) -> Array:
        """Return ``J' diag(weights) J v``, with `J` the derivative of the scores."""
        if not self.intercept:
            return self.features.sandwich(weights, v, 0.0)[0]
        pulled, total = self.features.sandwich(weights, v[:-1], float(v[-1]))
        xp = namespace(pulled)
        return xp.concat([pulled, xp.full((1,), total, dtype=pulled.dtype)])

    def rows(self, index: np.ndarray) -> LinearModel:
        """Return the model of some rows."""
        part = copy(self)
        part.__dict__.pop("sketch", None)
        part.__dict__.pop("norms", None)
        part._scores, part._raw = Latest(), Latest()
        part.features = self.features.rows(index)
        part.n_rows = len(index)
        return part

    @cached_property
    def sketch(self) -> Sketch:
        """Some rows, for estimates of second derivatives."""
        return Sketch(self)

    @cached_property
    def norms(self) -> np.ndarray:
        """The length of each row, the 1 of the intercept included."""
        return np.sqrt(self.features.squared_norms + self.intercept)

    def coefficients(self, x: Array) -> tuple[np.ndarray, float]:
        """Return weights (d,) and intercept in the units of `A`."""
        w, b = _split(to_numpy(x), self.intercept)
        coef = w if self.features.scale is None else w / self.features.scale
        moved = 0.0 if self.features.center is None else float(self.features.center @ coef)
        return coef, float(b) - moved

    def parameters(self, coef: Any, intercept: float = 0.0) -> np.ndarray:
        """Return the `x` of weights and intercept in the units of `A`; undoes `coefficients`."""
        d = self.features.shape[1]
        coef = _check.vector("LinearModel", "coef", coef, d)
        w = coef if self.features.scale is None else coef * self.features.scale
        if not self.intercept:
            return w
        moved = 0.0 if self.features.center is None else float(self.features.center @ coef)
        return np.append(w, float(intercept) + moved)


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


class Latest:
    """A function's value at the latest point, which is asked for more than once."""

    def __init__(self) -> None:
        self._known: tuple[np.ndarray, np.ndarray] | None = None

    def at(self, x: np.ndarray, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return ``function(x)``, computed unless `x` is the latest point."""
        if self._known is None or not np.array_equal(self._known[0], x):
            self._known = x.copy(), function(x)
        return self._known[1]


def _split(x: np.ndarray, intercept: bool) -> tuple[np.ndarray, float]:
    return (x[:-1], float(x[-1])) if intercept else (x, 0.0)
