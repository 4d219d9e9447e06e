"""Linear models: one score per row."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise._array import Array, is_tensor, like, namespace, quiet, to_numpy
from equipoise.models._features import Features
from equipoise.models._model import Model, ModelPoint
from equipoise.models._sketch import Sketch
from equipoise.models._sketch_plan import KINKED_MATRIX_UP_TO, SketchPlan
from equipoise.models._units import LinearUnits


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
    >>> from equipoise.models import LinearModel
    >>> model = LinearModel(np.array([[1.0, 200.0], [3.0, 100.0]]), scale=[1, 100], center=[2, 150])
    >>> model.scores(np.array([1.0, 2.0, 0.5]))
    array([0.5, 0.5])
    >>> model.coefficients(np.array([1.0, 2.0, 0.5]))
    (array([1.  , 0.02]), -4.5)
    """

    linear = True

    def __init__(
        self, A: Any, intercept: bool = True, scale: Any = None, center: Any = None
    ) -> None:
        self.features = Features(A, scale, center)
        self.intercept = _check.flag("LinearModel", "intercept", intercept)
        self.n_rows, d = self.features.shape
        self.dim = d + self.intercept
        self.penalised = np.r_[np.ones(d), np.zeros(int(self.intercept))]
        self.sketchable = True
        self.rounding = 1e-16 if self.features.dtype.itemsize >= 8 else 1e-7
        self._plans: dict[bool, SketchPlan] = {}
        self._start = 0
        self._forget()

    def _forget(self) -> None:
        """Let go of what was computed of other rows."""
        self._scores: tuple[Array, Array] | None = None  # the latest point and its scores
        self._predicted: tuple[np.ndarray, Array] | None = None
        self._sketches: dict[bool, Sketch] = {}
        self.__dict__.pop("lengths", None)

    def release(self) -> None:
        """Let go of the latest scores, of the sketches and the lengths."""
        self._forget()

    def at(self, x: Array) -> ModelPoint:
        """Evaluate the scores: one product with `A`, none for the same `x` twice in a row."""
        if not isinstance(x, np.ndarray):
            scores = self._push(x)
        else:
            if self._scores is None or not np.array_equal(self._scores[0], x):
                self._scores = x.copy(), self._push(x)
            scores = self._scores[1]
        return ModelPoint(
            scores,
            self._pull,
            self._push,
            sandwich=self._sandwich,
            pull_columns=self._pull_columns,
        )

    def predicted(self, x: np.ndarray) -> Array:
        """Return the scores computed from `coefficients`, as predictions are: they round differently."""
        if self._predicted is None or not np.array_equal(self._predicted[0], x):
            coef, intercept = self.units.coefficients(x)
            self._predicted = x.copy(), linear_scores(self.features.A, coef, intercept)
        return self._predicted[1]

    def _push(self, v: Array) -> Array:
        """Return the change of the scores along the direction `v` of parameters."""
        if not self.intercept:
            return self.features.times(v)
        return self.features.times(v[:-1], float(v[-1]))

    def _pull(self, gradient: Array) -> Array:
        """Return the parameter-gradient (dim,) of a score-gradient (n,)."""
        if not self.intercept:
            return self.features.transposed(gradient)
        xp = namespace(gradient)
        total = xp.sum(gradient, dtype=self.features.dtype)
        pulled = self.features.transposed(gradient, total)
        return xp.concat([pulled, xp.reshape(total, (1,))])

    def _pull_columns(self, gradients: Any) -> Array:
        """Return the parameter-gradients (k, dim) of score-gradients (n, k), sparse or dense."""
        pulled = self.features.transposed_columns(gradients)
        if not self.intercept:
            return pulled
        xp = namespace(pulled)
        total = like(gradients.sum(axis=0), pulled)
        return xp.concat([pulled, xp.reshape(total, (-1, 1))], axis=1)

    def _sandwich(self, weights: Array, v: Array) -> Array:
        """Return ``J' diag(weights) J v``, with `J` the derivative of the scores."""
        if not self.intercept:
            return self.features.sandwich(weights, v, 0.0)[0]
        pulled, total = self.features.sandwich(weights, v[:-1], float(v[-1]))
        return namespace(pulled).concat([pulled, like([total], pulled)])

    def rows(self, index: np.ndarray) -> LinearModel:
        """Return the model of some rows."""
        part = copy(self)
        part.features = self.features.rows(index)
        part.n_rows, part._plans, part._start = len(index), {}, 0
        part._forget()
        return part

    def gathered(self) -> LinearModel:
        """Return the model with its rows on the host."""
        if self.features.on_host:
            return self
        whole = copy(self)
        whole.features, whole._plans = self.features.gathered(), {}
        whole._forget()
        return whole

    def among(self, models: Sequence[LinearModel], start: int) -> LinearModel:
        """Return the model as one of several that share the rows; see `Model.among`."""
        changed = copy(self)
        changed._sketches, changed._start = {}, start
        changed._plans = {kinked: SketchPlan.of(models, kinked) for kinked in (False, True)}
        return changed

    def sketch(self, kinked: bool = False) -> Sketch:
        """Return some rows for estimates of second derivatives."""
        kinked = kinked and self._plan(False).diagonal and self.dim <= KINKED_MATRIX_UP_TO
        if kinked not in self._sketches:
            self._sketches[kinked] = self._plan(kinked).drawn(self, self._start)
        return self._sketches[kinked]

    def _plan(self, kinked: bool) -> SketchPlan:
        if kinked not in self._plans:
            self._plans[kinked] = SketchPlan.of([self], kinked)
        return self._plans[kinked]

    def jacobian(self) -> np.ndarray:
        """Return the derivative of the scores as a dense matrix (n, dim): for a few rows."""
        weights = to_numpy(self.features.transposed(np.eye(self.n_rows))).T
        return np.column_stack((weights, np.ones(self.n_rows))) if self.intercept else weights

    @cached_property
    def lengths(self) -> Array:
        """The length of each row, the 1 of the intercept included; a tensor where the features are one."""
        squares = self.features.squared_norms + self.intercept
        return namespace(squares).sqrt(squares)

    @cached_property
    def units(self) -> LinearUnits:
        """How parameters relate to coefficients of the columns of `A`."""
        features = self.features
        return LinearUnits(features.shape[1], self.intercept, features.scale, features.center)

    def coefficients(self, x: Array) -> tuple[np.ndarray, float]:
        """Return weights (d,) and intercept in the units of `A`."""
        coef, intercept = self.units.coefficients(x)
        return coef[0], float(intercept[0])

    def parameters(self, coef: Any, intercept: float = 0.0) -> np.ndarray:
        """Return the `x` of weights and intercept in the units of `A`; undoes `coefficients`."""
        coef = _check.vector("LinearModel", "coef", coef, self.features.shape[1])
        return self.units.parameters(coef, intercept)


@quiet
def linear_scores(X: Any, coef: np.ndarray, intercept: Any) -> Array:
    """Return the scores that predictions are made from, in the precision of `X`; a tensor for a tensor.

    Shape (n,) for `coef` of shape (1, d), (n, K) for (K, d).
    """
    owner = "linear_scores"
    coef = _check.matrix(owner, "coef", coef, "K", "d")
    shape = tuple(getattr(X, "shape", ()))
    numbers = X.is_floating_point() if is_tensor(X) else getattr(X, "dtype", None) is not None
    if not is_tensor(X) and numbers:
        numbers = X.dtype.kind in "iuf"
    if len(shape) != 2 or shape[1] != coef.shape[1] or not numbers:
        _check.fail(owner, "X", f"must be a matrix of {coef.shape[1]} columns of numbers", X)
    if _check.is_number(intercept):
        intercept = [intercept] * len(coef)
    intercept = _check.vector(owner, "intercept", intercept, len(coef))
    if is_tensor(X):
        weights, offset = like(coef, X), like(intercept, X)
        return X @ weights[0] + offset[0] if len(coef) == 1 else X @ weights.T + offset
    weights = coef.astype(X.dtype, copy=False)
    return np.asarray(X @ (weights[0] if len(coef) == 1 else weights.T)) + intercept
