"""Units: how the parameters of a linear model relate to coefficients of the user's columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._array import Array, to_numpy


@dataclass(frozen=True, eq=False)
class LinearUnits:
    """Column scales, column centres and whether there is an intercept; the same for all rows.

    Parameters
    ----------
    n_columns : int
    intercept : bool
    scale, center : array of shape (d,), optional
        By default 1 and 0.
    n_classes : int, optional
        K for one linear model per class; by default there is one score.
    """

    n_columns: int
    intercept: bool = True
    scale: np.ndarray | None = None
    center: np.ndarray | None = None
    n_classes: int | None = None

    def __post_init__(self) -> None:
        owner = "LinearUnits"
        _check.count(owner, "n_columns", self.n_columns, least=1)
        _check.flag(owner, "intercept", self.intercept)
        for parameter in ("scale", "center"):
            if getattr(self, parameter) is not None:
                array = _check.vector(owner, parameter, getattr(self, parameter), self.n_columns)
                object.__setattr__(self, parameter, array)
        if self.n_classes is not None:
            _check.count(owner, "n_classes", self.n_classes, least=2)

    @property
    def dim(self) -> int:
        """The number of parameters."""
        return (self.n_classes or 1) * (self.n_columns + self.intercept)

    def coefficients(self, x: Array) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (K, d) and intercepts (K,) in the units of the columns; K is 1 for one score."""
        W = to_numpy(x).reshape(self.n_classes or 1, -1)
        b = W[:, -1] if self.intercept else np.zeros(len(W))
        coef = W[:, :-1] if self.intercept else W
        coef = coef if self.scale is None else coef / self.scale
        return coef, b if self.center is None else b - coef @ self.center

    def parameters(self, coef: Any, intercept: Any = 0.0) -> np.ndarray:
        """Return the `x` of weights and intercepts in the units of the columns; undoes `coefficients`."""
        shape = (self.n_classes or 1, self.n_columns)
        coef = np.atleast_2d(_check.numbers("LinearUnits", "coef", coef))
        coef = _check.matrix("LinearUnits", "coef", coef, *shape)
        if _check.is_number(intercept):
            intercept = [intercept] * shape[0]
        W = coef if self.scale is None else coef * self.scale
        if not self.intercept:
            return W.ravel()
        b = _check.vector("LinearUnits", "intercept", intercept, shape[0])
        b = b if self.center is None else b + coef @ self.center
        return np.column_stack((W, b)).ravel()
