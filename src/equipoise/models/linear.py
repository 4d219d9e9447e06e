"""Linear models: one score per row."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise._array import Array, namespace, quiet, to_numpy
from equipoise.models.features import Features
from equipoise.models.latest import Latest
from equipoise.models.model import Model
from equipoise.models.sketch import KINKED, Sketch


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
        coef, intercept = self.coefficients(x)
        return linear_scores(self.features.A, coef[None], np.float64(intercept))

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
        for computed in ("sketch", "kinked_sketch", "norms"):
            part.__dict__.pop(computed, None)
        part._scores, part._raw = Latest(), Latest()
        part.features = self.features.rows(index)
        part.n_rows = len(index)
        return part

    @cached_property
    def sketch(self) -> Sketch:
        """Some rows, for estimates of second derivatives."""
        return Sketch(self)

    @cached_property
    def kinked_sketch(self) -> Sketch:
        """The same with a matrix for more parameters: where kinks are rounded, a diagonal says little."""
        return Sketch(self, wide=False) if self.sketch.wide and self.dim <= KINKED else self.sketch

    @property
    def jacobian(self) -> np.ndarray:
        """The derivative of the scores as a dense matrix (n, dim): for a few rows."""
        weights = to_numpy(self.features.transposed(np.eye(self.n_rows))).T
        return np.column_stack((weights, np.ones(self.n_rows))) if self.intercept else weights

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


@quiet
def linear_scores(X: Any, coef: np.ndarray, intercept: Any) -> np.ndarray:
    """Return the scores that predictions are made from, in the precision of `X`.

    Shape (n,) for `coef` of shape (1, d), (n, K) for (K, d).
    """
    weights = coef.astype(X.dtype, copy=False)
    return np.asarray(X @ (weights[0] if len(coef) == 1 else weights.T)) + intercept


def _split(x: np.ndarray, intercept: bool) -> tuple[np.ndarray, float]:
    return (x[:-1], float(x[-1])) if intercept else (x, 0.0)
