"""A channel: the rates of one pointwise function."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise.terms._placed import Placed
from equipoise.terms.kinks import RowKinks
from equipoise.terms.pointwise import Pointwise
from equipoise.terms.row_weights import RowWeights
from equipoise.terms.scores import Scores


class Channel:
    """Rates ``W' phi(sign * s)`` of one pointwise function `phi`.

    Parameters
    ----------
    function : Pointwise
    weights : RowWeights, or a matrix of shape (n, R)
    sign : array of shape (n,), optional
        1 and -1 for a function of the margin; without it, `phi` is taken of the score.
    """

    def __init__(self, function: Pointwise, weights: Any, sign: Any = None) -> None:
        self.function = function
        self.weights = weights if isinstance(weights, RowWeights) else RowWeights(weights)
        self.sign = None if sign is None else _signs(sign, self.weights.shape[0])
        self._placed = Placed(partial(np.asarray, self.sign))

    def margins(self, scores: Scores) -> Scores:
        """Return what the function is taken of."""
        return scores if self.sign is None else scores.margins(self._sign(scores.s))

    def rates(self, z: Scores) -> np.ndarray:
        """Return the rates at the margins `z`."""
        return self.weights.rates(self.function.value(z))

    def hard(self, z: Scores) -> np.ndarray:
        """Return the rates with the function replaced by what it stands for."""
        return self.weights.rates(self.function.hard(z))

    def slope(self, z: Scores) -> Array:
        """Return the derivative of ``phi(sign * s)`` with respect to `s`."""
        slope = self.function.slope(z)
        return slope if self.sign is None else self._sign(slope) * slope

    def rows(self, index: np.ndarray, scale: float) -> Channel:
        """Return the channel of some rows, times `scale`."""
        sign = None if self.sign is None else self.sign[index]
        return Channel(self.function, self.weights.rows(index, scale), sign)

    def sharpened(self, k: float) -> Channel:
        """Return the channel with sharpness `k`."""
        return Channel(self.function.sharpened(k), self.weights, self.sign)

    def smoothed(self, width: float) -> Channel:
        """Return the channel with the function's kink rounded."""
        return Channel(self.function.smoothed(width), self.weights, self.sign)

    def kinks(self, scores: Scores, width: float, coefficients: Any) -> RowKinks:
        """Return the rows within `width` of the function's kink; the functions are ``C W' phi``."""
        z, kink = self.margins(scores), self.function.kink
        assert kink is not None
        rows = np.flatnonzero(np.abs(z.s - kink.at) <= width)
        sign = np.ones(rows.size) if self.sign is None else self.sign[rows].astype(np.float64)
        used = (self.function.slope(z)[rows] - kink.right) / (kink.left - kink.right)
        masses = (self.weights.matrix[rows] @ coefficients.T).toarray()
        return RowKinks(
            rows, sign * (kink.at - z.s[rows]), sign * (kink.left - kink.right), masses, used
        )

    def _sign(self, scores: Array) -> Array:
        return self.sign if isinstance(scores, np.ndarray) else self._placed.at(scores)

    def __reduce__(self) -> tuple[Any, ...]:
        return Channel, (self.function, self.weights, self.sign)


def _signs(sign: Any, n: int) -> np.ndarray:
    """Return `sign` as int8: a product with float32 scores stays float32."""
    given = np.asarray(sign)
    if given.shape != (n,):
        _check.fail("Channel", "sign", f"must have shape ({n},)", given.shape)
    signs = given.astype(np.int8)
    if not (np.abs(signs) == 1).all():
        _check.fail("Channel", "sign", "must hold only 1 and -1", sorted(set(signs.tolist())))
    return signs
