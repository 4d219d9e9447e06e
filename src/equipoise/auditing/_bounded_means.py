r"""Sums of means of bounded numbers: limits by exponential moments (Hoeffding 1963).

A number in [0, 1] with mean `m` has no larger exponential moments than a hit of probability `m`; nor has the
mean of such a number over all pairs of rows of two samples, as if it were one over as many independent
pairs as the smaller sample has rows. For independent means ``M_j`` over ``n_j`` draws, of expectation
``m_j``, and ``c_j > 0``,

    P(sum c_j M_j <= v)  <=  exp(l v) prod_j (1 - m_j + m_j exp(-l c_j / n_j))^n_j   for every l > 0.

The logarithm of the right-hand side is concave in `m`, so its largest value over ``sum c_j m_j >= t`` is
found by one multiplier; the least over `l` is the p-value. Errors of the means add as squares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from equipoise.auditing._measure import Measure

HALVINGS = 40  # of an interval, until 1e-12 of it is left; what is left errs on the safe side
LIMIT_TOLERANCE = 1e-5  # limits are found to this, and moved outwards by as much. Chosen.


@final
@dataclass(frozen=True)
class BoundedMeans(Measure):
    """``offset + sum of factors * means``, of means of independent numbers in [0, 1].

    Attributes
    ----------
    means : tuple of float
    rows : tuple of int
        Independent draws behind each mean.
    factors : tuple of float
        Positive.
    offset : float
    """

    means: tuple[float, ...]
    rows: tuple[int, ...]
    factors: tuple[float, ...]
    offset: float = 0.0

    @staticmethod
    def of(
        means: list[float], rows: list[int], factors: list[float], offset: float
    ) -> BoundedMeans:
        """Return the measure for factors of either sign."""
        kept = [i for i, factor in enumerate(factors) if factor]
        turned = [means[i] if factors[i] > 0 else 1.0 - means[i] for i in kept]
        shift = sum(min(factors[i], 0.0) for i in kept)
        return BoundedMeans(
            tuple(turned),
            tuple(rows[i] for i in kept),
            tuple(abs(factors[i]) for i in kept),
            offset + shift,
        )

    @property
    def value(self) -> float:
        """What the means give."""
        if not all(self.rows):
            return math.nan
        return self.offset + float(np.dot(self.factors, self.means))

    @property
    def spread(self) -> float:
        """The standard error if the numbers were hits or none."""
        parts = [
            c * c * max(m * (1.0 - m), 1.0 / (n + 2.0)) / max(n, 1)
            for c, m, n in zip(self.factors, self.means, self.rows)
        ]
        return math.sqrt(sum(parts))

    @property
    def fewest(self) -> int:
        """The fewest draws behind a mean."""
        return min(self.rows)

    def mirrored(self) -> BoundedMeans:
        """Return minus the sum."""
        total = sum(self.factors)
        turned = tuple(1.0 - mean for mean in self.means)
        return BoundedMeans(turned, self.rows, self.factors, -self.offset - total)

    def upper(self, level: float) -> float:
        """Return the limit at which the p-value is `level`."""
        highest = self.offset + sum(self.factors)
        if not all(self.rows) or self.chance(highest, level) > level:
            return highest
        wanted = math.log(level)
        found = brentq(
            lambda t: self._log_chance(t) - wanted, self.value, highest, xtol=LIMIT_TOLERANCE
        )
        return min(highest, float(found) + LIMIT_TOLERANCE)

    def chance(self, limit: float, level: float) -> float:
        """Return the p-value."""
        if not all(self.rows) or limit <= self.value:
            return 1.0
        return math.exp(self._log_chance(limit))

    def _log_chance(self, limit: float) -> float:
        n, c = np.array(self.rows, dtype=float), np.array(self.factors)
        value, target = self.value - self.offset, limit - self.offset
        if target <= value:
            return 0.0
        if target > c.sum():
            return -math.inf

        def exponent(log_l: float) -> float:
            kappa = -np.expm1(-math.exp(log_l) * c / n)
            m = _largest(n, c, kappa, target)
            inside = np.log1p(-np.minimum(m * kappa, 1.0 - 1e-16))  # finite, for the search
            return math.exp(log_l) * value + float(n @ inside)

        middle = math.log(4.0 * (target - value) / float((c * c / n).sum()))
        around = (middle - 6.0, middle + 8.0)
        found = minimize_scalar(exponent, bounds=around, method="bounded", options={"xatol": 1e-2})
        return min(0.0, float(found.fun))


def _largest(n: np.ndarray, c: np.ndarray, kappa: np.ndarray, target: float) -> np.ndarray:
    """Return the expectations that sum to the target and make the bound largest."""
    if n.size == 1:
        return np.array([target / c[0]])
    # in units of n / c, the condition is m = 1 / kappa - n / (c mu), held within [0, 1]
    low, high = 0.0, float((kappa * n / (c * np.maximum(1.0 - kappa, 1e-300))).max())
    for _ in range(HALVINGS):
        mu = 0.5 * (low + high)
        m = np.clip(1.0 / kappa - n / (c * max(mu, 1e-300)), 0.0, 1.0)
        low, high = (low, mu) if float(c @ m) >= target else (mu, high)
    return np.clip(1.0 / kappa - n / (c * low), 0.0, 1.0) if low > 0.0 else np.zeros(n.size)
