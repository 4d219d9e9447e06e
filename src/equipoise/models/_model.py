"""Model: from parameters to the scores of rows, and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy import sparse

from equipoise._array import Array, namespace, to_numpy
from equipoise.models._sketch import Sketch


@dataclass(frozen=True)
class ModelPoint:
    """The scores of all rows at one `x`, and how they move with it.

    Attributes
    ----------
    scores : array of shape (n,), or (n, K) for K classes
    pull : callable
        A gradient with respect to the scores to the gradient (dim,) with respect to `x`: ``J' g``,
        with `J` the derivative of the scores at this `x`.
    push : callable or None
        A direction (dim,) to the change of the scores along it, ``J v``.
    bend : callable or None
        ``(g, v)`` to ``sum_i g_i hess s_i(x) v``. A linear model has none: its scores do not bend.
    sandwich : callable or None
        ``(weights, v)`` to ``J' diag(weights) J v``, where that costs less than push and pull.
    pull_columns : callable or None
        A matrix (n, k) of score-gradients, which may be sparse, to the matrix (k, dim) of gradients,
        where that costs less than k times `pull`.
    pull_rows : callable or None
        Row numbers, and a gradient with respect to the scores of these rows, to the gradient (dim,).
    """

    scores: Array
    pull: Callable[[Array], Array]
    push: Callable[[Array], Array] | None = None
    bend: Callable[[Array, Array], Array] | None = None
    sandwich: Callable[[Array, Array], Array] | None = None
    pull_columns: Callable[[Any], Array] | None = None
    pull_rows: Callable[[np.ndarray, Array], Array] | None = None

    def pull_each(self, gradients: Any) -> Array:
        """Return the parameter-gradients (k, dim) of the columns of a matrix (n, k)."""
        if self.pull_columns is not None:
            return self.pull_columns(gradients)
        dense = gradients.toarray() if sparse.issparse(gradients) else gradients
        pulled = [self.pull(dense[:, j]) for j in range(dense.shape[1])]
        return namespace(pulled[0]).stack(pulled)


class Model(ABC):
    """The scores of some rows as functions of the parameters `x`.

    Attributes
    ----------
    dim : int
        The number of parameters.
    n_rows : int
    penalised : ndarray of shape (dim,)
        1 for a weight, 0 for an intercept: what a penalty on the weights counts.
    linear : bool
        Whether the scores are linear in `x` (up to a constant). Facts such as convexity are derived
        from the terms only for a linear model.
    smooth : bool
        Whether the scores have Lipschitz gradients.
    sketchable : bool
        Whether it has a `sketch`.
    rounding : float
        The relative rounding error of the scores; 1e-7 for single precision.
    start : ndarray of shape (dim,) or None
        Where to start, if not at 0, which is a bad start for a network.
    """

    dim: int
    n_rows: int
    penalised: np.ndarray
    linear: bool = False
    smooth: bool = True
    sketchable: bool = False
    rounding: float = 1e-16
    start: np.ndarray | None = None

    @abstractmethod
    def at(self, x: Array) -> ModelPoint:
        """Evaluate the scores of all rows at `x`."""

    @abstractmethod
    def rows(self, index: np.ndarray) -> Model:
        """Return the model of some rows."""

    @property
    def lengths(self) -> np.ndarray | None:
        """The norm of each score's gradient, (n,), for a linear model; None if it is not known."""
        return None

    def jacobian(self) -> np.ndarray | None:
        """Return the derivative (n, dim) of one score a row, if it is the same for all `x`: for few rows."""
        return None

    def sketch(self, kinked: bool = False) -> Sketch:
        """Return some rows for estimates of second derivatives.

        With `kinked`, for functions with rounded kinks, whose second derivatives need more care.
        """
        raise AttributeError(f"{type(self).__name__} has no sketch.")

    def among(self, models: Sequence[Any], start: int) -> Model:
        """Return the model as one of several that share the rows, its own beginning at `start`.

        Its sketch is then drawn as part of a sketch of all rows.
        """
        return self

    def release(self) -> None:  # noqa: B027 (most have nothing to let go of)
        """Let go of what was computed of the rows; it is computed again where it is asked for."""

    def gathered(self) -> Model:
        """Return the model with its rows on the host: itself, where they are there or cannot be."""
        return self

    def predicted(self, x: np.ndarray) -> Array:
        """Return the scores of the rows as predictions will be made from them, rounding included."""
        return to_numpy(self.at(x).scores)

    @final
    def scores(self, x: Array) -> Array:
        """Return the scores alone."""
        return self.at(x).scores
