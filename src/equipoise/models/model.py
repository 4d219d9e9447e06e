"""Model: from parameters to scores, and back."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from equipoise._array import Array
from equipoise.models.sketch import Sketch


class Model(ABC):
    """Scores that are linear in the parameters `x`.

    Attributes
    ----------
    dim : int
        The number of parameters.
    n_rows : int
    penalised : ndarray of shape (dim,)
        1 for a weight, 0 for an intercept: what a penalty on the weights counts.
    sketchable : bool
        Whether it has a `sketch`.
    """

    dim: int
    n_rows: int
    penalised: np.ndarray
    sketchable: bool = False

    @abstractmethod
    def scores(self, x: Array) -> Array:
        """Return the scores of all rows: one product with the data."""

    @abstractmethod
    def pull(self, gradient: Array) -> Array:
        """Return the parameter-gradient (dim,) of a score-gradient: one transposed product."""

    @abstractmethod
    def rows(self, index: np.ndarray) -> Model:
        """Return the model of some rows."""

    @property
    @abstractmethod
    def norms(self) -> np.ndarray:
        """The length of the derivative of each row's score, shape (n,)."""

    @property
    def sketch(self) -> Sketch:
        """Some rows, for estimates of second derivatives."""
        raise AttributeError(f"{type(self).__name__} has no sketch.")

    @property
    def kinked_sketch(self) -> Sketch:
        """The same for functions with rounded kinks, whose second derivatives need more care."""
        return self.sketch

    def sandwich(self, weights: Array, v: Array) -> Array:
        """Return ``J' diag(weights) J v``, with `J` the derivative of the scores."""
        return self.pull(weights * self.push(v))

    def push(self, v: Array) -> Array:
        """Return the change of the scores along the direction `v` of parameters."""
        return self.scores(v)
