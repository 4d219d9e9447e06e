"""Rates: weighted sums over rows of one pointwise function."""

from __future__ import annotations

from functools import partial
from typing import Any, final

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise._array import Array, is_tensor, placed, to_numpy
from equipoise.terms._device_weights import DeviceWeights
from equipoise.terms._kinks import RowKinks
from equipoise.terms._placed import Placed
from equipoise.terms._pointwise import Pointwise
from equipoise.terms._row_weights import RowWeights
from equipoise.terms._score_sum import ScoreSum, ScoreSumPoint, SumBounds
from equipoise.terms._scores import Scores


@final
class Rates(ScoreSum):
    """R rates ``W' phi(sign * s)`` of one pointwise function `phi`.

    One evaluation costs the non-zeros of `W`, however many rates there are.

    Parameters
    ----------
    function : Pointwise
    weights : RowWeights, DeviceWeights, or a matrix of shape (n, R)
    sign : array or tensor of shape (n,), optional
        1 and -1 for a function of the margin; without it, `phi` is taken of the score.

    Examples
    --------
    >>> import numpy as np
    >>> from equipoise.terms import Rates, Sigmoid
    >>> positive = Rates(Sigmoid(), np.full((4, 1), 0.25))
    >>> scores = np.array([2.0, 1.0, 1.0, -1.0])
    >>> positive.values(scores).round(3)
    array([0.653])
    """

    def __init__(self, function: Pointwise, weights: Any, sign: Any = None) -> None:
        self.function = _check.kind("Rates", "function", function, Pointwise)
        ready = isinstance(weights, RowWeights | DeviceWeights)
        self.weights = weights if ready else RowWeights(weights)
        self.n_rows, self.size = self.weights.shape
        self.smooth = function.kink is None
        self.sign = None if sign is None else _signs(sign, self.n_rows)
        self._placed = Placed(partial(np.asarray, self.sign))  # called for a sign on the host alone

    def at(self, scores: Scores) -> ScoreSumPoint:
        """Evaluate the rates."""
        self._check_scores(scores)
        z, s, weights = self.margins(scores), scores.s, self.weights

        def bend(u: np.ndarray) -> Array:
            return weights.spread(u, s) * self.function.curvature(z)

        def slope_of_each() -> Array:
            slope = self.function.slope(z)
            return slope if self.sign is None else self._sign(slope) * slope

        return ScoreSumPoint(
            weights.rates(self.function.value(z)),
            lambda u: weights.spread(u, s) * slope_of_each(),
            lambda d: weights.rates(slope_of_each() * d),
            lambda index: weights.columns(index, slope_of_each()),
            bend if self.smooth else None,
            (lambda u, d: bend(u) * d) if self.smooth else None,
            separable=True,
        )

    def margins(self, scores: Scores) -> Scores:
        """Return what the function is taken of."""
        return scores if self.sign is None else scores.margins(self._sign(scores.s))

    def thresholded(self, scores: Scores) -> np.ndarray:
        """Return the rates of what the function stands for."""
        self._check_scores(scores)
        return self.weights.rates(self.function.thresholded(self.margins(scores)))

    def above(self, places: Array, count: int) -> np.ndarray:
        """Return the thresholded rates for each threshold: one pass over the weights for all."""
        if not self.function.counts or self.sign is not None:
            return np.full((count, self.size), np.nan)
        between = self.weights.by_place(places, count + 1)  # two neighbouring thresholds
        positive = np.cumsum(between[:0:-1], axis=0)[::-1]
        high, low = self.function.thresholded(Scores(np.array([1.0, -1.0])))
        return low * between.sum(axis=0) + (high - low) * positive

    def rows(self, index: np.ndarray, scale: float) -> Rates:
        """Return the rates over some rows, times `scale`."""
        sign = None if self.sign is None else to_numpy(self.sign[placed(index, self.sign)])
        return Rates(self.function, self.weights.rows(index, scale), sign)

    @property
    def rates(self) -> tuple[Rates, ...]:
        """These alone."""
        return (self,)

    def sharpened(self, k: float) -> Rates:
        """Return the rates of the function with sharpness `k`."""
        return Rates(self.function.sharpened(k), self.weights, self.sign)

    def smoothed(self, width: float) -> Rates:
        """Return the rates of the function with its kink rounded."""
        return Rates(self.function.smoothed(width), self.weights, self.sign)

    def bounds(self, lengths: Array | None) -> SumBounds:
        r"""Return constants for scores ``<a_j, x>`` with ``|a_j| = lengths_j``.

        With :math:`u_r = \sum_j |W_{jr}| |a_j|` and :math:`v_r` the same with squared lengths, a rate
        has slopes up to :math:`\mathrm{lip}(\phi) u_r` and curvatures up to :math:`\max|\phi''| v_r`.
        Minus a convex loss is weakly convex with the loss's largest curvature.
        """
        moments = self.weights.moments(lengths)
        least, largest = self._range(*moments[0])
        if lengths is None:
            return SumBounds.between(least, largest)
        lipschitz, (low, high) = self.function.lipschitz, self.function.curvatures
        concave, convex = max(0.0, -low), max(0.0, high)
        plus, minus = moments[2]
        return SumBounds(
            _times(np.inf if lipschitz is None else lipschitz, np.add(*moments[1])),
            _times(concave, plus) + _times(convex, minus),
            _times(convex, plus) + _times(concave, minus),
            least,
            largest,
        )

    def _range(self, plus: np.ndarray, minus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest value of each rate from the range of the function."""
        low, high = self.function.range
        return _times(low, plus) - _times(high, minus), _times(high, plus) - _times(low, minus)

    @property
    def used(self) -> Array:
        """Which rows have a weight."""
        return self.weights.used

    @property
    def largest(self) -> np.ndarray:
        """The most that one row's prediction adds to each thresholded rate."""
        return self.weights.largest

    def kinks(self, scores: Scores, width: float) -> RowKinks:
        """Return the rows within `width` of the function's kink."""
        z, kink = self.margins(scores), self.function.kink
        if kink is None:
            return RowKinks.none(self.size)
        rows = np.flatnonzero(np.abs(z.s - kink.at) <= width)
        sign = np.ones(rows.size) if self.sign is None else self.sign[rows].astype(np.float64)
        used = (self.function.slope(z)[rows] - kink.right) / (kink.left - kink.right)
        masses = self.weights.matrix[rows].toarray()
        jumps = sign * (kink.left - kink.right)
        return RowKinks(rows, sign * (kink.at - z.s[rows]), jumps, masses, used)

    def turned(self, positive: np.ndarray) -> Any:
        """Return what turning predictions over adds; a loss does not follow predictions."""
        if not self.function.counts:
            return sparse.csr_array((self.size, self.n_rows))
        side, counted = np.where(positive, 1.0, -1.0), self.function.thresholded
        change = counted(self.margins(Scores(-side))) - counted(self.margins(Scores(side)))
        return self.weights.matrix.T @ sparse.diags_array(change)

    def _sign(self, scores: Array) -> Array:
        at_hand = isinstance(scores, np.ndarray) or is_tensor(self.sign)
        return self.sign if at_hand else self._placed.at(scores)

    def _check_scores(self, scores: Scores) -> None:
        shape = tuple(scores.shape)
        if shape != (self.n_rows,):
            _check.fail("Rates", "scores", f"must have shape ({self.n_rows},)", shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return Rates, (self.function, self.weights, self.sign)


def _signs(sign: Any, n: int) -> Array:
    """Return `sign` as int8: a product with float32 scores stays float32; a tensor as it is."""
    if is_tensor(sign):
        if tuple(sign.shape) != (n,) or not bool((sign * sign == 1).all()):
            _check.fail("Rates", "sign", f"must hold {n} numbers 1 and -1", tuple(sign.shape))
        return sign
    given = sign if isinstance(sign, np.ndarray) and sign.dtype == np.int8 else None
    signs = _check.vector("Rates", "sign", sign, n) if given is None else given
    if signs.shape != (n,):
        _check.fail("Rates", "sign", f"must have shape ({n},)", signs.shape)
    if not (np.abs(signs) == 1).all():
        _check.fail("Rates", "sign", "must hold only 1 and -1", signs)
    return signs.astype(np.int8)


def _times(constant: float, totals: np.ndarray) -> np.ndarray:
    """Return the product, with ``inf * 0 = 0``: what has no weight does not count."""
    return np.where(totals > 0.0, constant * np.where(totals > 0.0, totals, 1.0), 0.0)
