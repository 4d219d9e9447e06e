"""The correlation of the scores with a column of the data, as a function of sums over rows."""

from __future__ import annotations

from typing import Any, Self, final

import numpy as np

from equipoise import _check
from equipoise.terms._combination import Combination
from equipoise.terms._fixed_predictions import Identity
from equipoise.terms._functionals import Functional, SecondDerivative
from equipoise.terms._losses import Squared
from equipoise.terms._rates import Rates
from equipoise.terms._score_sum import ScoreSum, SumBounds
from equipoise.terms._terms import Terms

# Added to both variances, so that scores that are all equal have the correlation 0 (Beutel et al. 2019).
ADDED_VARIANCE = 1e-8


@final
class Correlation(Functional):
    """A multiple of the correlation of scores with a column: 0 where the scores are all equal.

    A function of three sums over rows: the covariance with the column, the mean score and the mean
    squared score. `Correlation.sums` makes them; 1e-8 is added to both variances.

    Parameters
    ----------
    variance : float
        Of the column.
    factor : float
        -1 for an upper bound on minus the correlation; the strength of a penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from equipoise.terms import Correlation
    >>> column = np.array([1.0, 1.0, -1.0, -1.0])
    >>> terms = Correlation.terms(column)
    >>> terms.at(np.array([3.0, 1.0, 1.0, -1.0])).values.round(3)
    array([0.707])
    """

    n_sums = 3

    def __init__(self, variance: float, factor: float = 1.0) -> None:
        self.variance = _check.non_negative("Correlation", "variance", variance)
        self.factor = _check.real("Correlation", "factor", factor)
        self.least = -abs(self.factor)

    @staticmethod
    def sums(column: Any) -> tuple[list[ScoreSum], float]:
        """Return the three sums over rows, and the variance of the column."""
        values = _check.vector("Correlation.sums", "column", column)
        if not values.size:
            _check.fail("Correlation.sums", "column", "must not be empty", values.size)
        share = np.full(values.size, 1.0 / values.size)
        centred = values - values.mean()
        linear = Rates(Identity(), np.column_stack((share * centred, share)))
        return [linear, Rates(Squared(1.0, 0.0), share[:, None])], float(share @ centred**2)

    @classmethod
    def terms(cls, column: Any, factor: float = 1.0) -> Terms:
        """Return the correlation with a column as an objective without constraints."""
        sums, variance = cls.sums(column)
        return Terms(sums, Combination(np.zeros((1, 3)), bent=[(0, cls(variance, factor))]))

    def times(self, factor: float) -> Self:
        """Return a multiple of this function."""
        return type(self)(self.variance, self.factor * factor).placed(self.first)

    def _at(self, r: np.ndarray) -> tuple[float, np.ndarray, SecondDerivative]:
        covariance, mean, square = r
        V = max(square - mean * mean, 0.0) + ADDED_VARIANCE
        k = self.factor / np.sqrt(V * (self.variance + ADDED_VARIANCE))
        slope = k * np.array([1.0, covariance * mean / V, -covariance / (2 * V)])

        def product(change: np.ndarray) -> np.ndarray:
            d_covariance, d_mean, d_square = change
            d_V = (d_square - 2 * mean * d_mean) / V
            return k * np.array(
                [
                    -d_V / 2,
                    (d_covariance * mean + covariance * d_mean - 1.5 * covariance * mean * d_V) / V,
                    (-d_covariance + 1.5 * covariance * d_V) / (2 * V),
                ]
            )

        return float(k * covariance), slope, product

    def bounds(self, sums: SumBounds) -> tuple[float, float, float]:
        """Return nothing: the variance of the scores may come close to 0."""
        return np.inf, np.inf, np.inf

    @property
    def uses(self) -> np.ndarray:
        """All three sums."""
        return self.first + np.arange(3)
