r"""Two independent rates: exact limits of a difference or a ratio, without splitting the error.

Let `X_1`, `X_2` be binomial with probabilities `p_1`, `p_2`, and let ``E(p_1, p_2)`` rise in the first and
fall in the second. Outcomes are ordered by an approximate upper limit `T(x)`; the exact limit is the
largest `E` under which outcomes up to the one observed still have the probability `level` (Buehler 1957):

1. ``R = {x: T(x) <= T(observed)}`` is made a staircase: with ``(x_1, x_2)`` it holds all outcomes with fewer
   hits of the first and more of the second. So ``P(R)`` falls in `p_1` and rises in `p_2`.
2. For a limit `t`, the largest ``P(R)`` over ``E >= t`` lies on ``E = t``. One of the two probabilities is
   left free there; it is taken from an exact interval of its own, whose small error is added
   (Berger & Boos 1994).
3. The interval is cut in cells. Over a cell, ``P(R)`` is at most its value with `p_1` at the low end
   and `p_2` at the high end: a bound without a gap between grid points.

A difference of rates measured like this is about as uncertain as it is (the errors add as squares),
where two separate intervals would add up their lengths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from scipy.special import betaincinv, ndtri

from equipoise.auditing._measure import Measure
from equipoise.auditing._window import Window

# A limit of two rates leaves one probability free. This share of the error pays for an interval that holds
# it, the rest for the test. Chosen: the interval grows only with the logarithm of the share.
FREE_SHARE = 0.01

# The free probability is looked at in cells, this many to a standard error of the difference. Limits are too
# wide by about the width of a cell. Chosen.
CELLS_PER_ERROR = 24

# Limits are found to this share of the standard error. Chosen.
LIMIT_TOLERANCE = 0.01

MOST_STEPS = 60  # towards a limit: far more than halving the interval takes. Chosen.


@final
@dataclass(frozen=True)
class TwoRates(Measure):
    """``factor_1 p_1 - factor_2 p_2 + offset``, or ``log(factor_1 p_1 / (factor_2 p_2))``.

    Attributes
    ----------
    hits, rows : pairs of int
        Of the two rates.
    factors : pair of float
        Positive.
    offset : float
    ratio : bool
        The logarithm of the ratio instead of the difference.
    """

    hits: tuple[int, int]
    rows: tuple[int, int]
    factors: tuple[float, float] = (1.0, 1.0)
    offset: float = 0.0
    ratio: bool = False

    @property
    def value(self) -> float:
        """The difference, or the logarithm of the ratio, of the shares."""
        if not all(self.rows):
            return math.nan
        p, q = (hits / rows for hits, rows in zip(self.hits, self.rows))
        a, b = self.factors
        if not self.ratio:
            return a * p - b * q + self.offset
        if p == q == 0.0:
            return math.nan
        return -math.inf if p == 0.0 else math.inf if q == 0.0 else math.log(a * p / (b * q))

    @property
    def spread(self) -> float:
        """The standard error, from shares drawn a little towards one half."""
        return float(self._approximate(np.array(self.hits), 1.0)[1])

    @property
    def fewest(self) -> int:
        """The rows of the rate that has fewer."""
        return min(self.rows)

    def mirrored(self) -> TwoRates:
        """Return the difference the other way round."""
        a, b = self.factors
        return TwoRates(self.hits[::-1], self.rows[::-1], (b, a), -self.offset, self.ratio)

    def upper(self, level: float) -> float:
        """Return the limit, found by secants of the normal quantiles of the chances."""
        highest = math.inf if self.ratio else self.factors[0] + self.offset
        if not all(self.rows):
            return highest
        wanted = float(ndtri(level))
        low, error = map(float, self._approximate(np.array(self.hits), -wanted))
        region, best, limit = _Region(self, level), highest, low - wanted * error
        for _ in range(MOST_STEPS):
            chance = region.chance(limit)
            low, best = (low, limit) if chance <= level else (limit, best)
            if best - low <= LIMIT_TOLERANCE * error:
                break
            # normal quantiles of the chance fall by about 1 for every standard error
            z = float(ndtri(min(max(chance, 1e-300), 1.0 - 1e-12)))
            limit += (z - wanted + 0.25 * LIMIT_TOLERANCE) * error
            if not low < limit < best:
                limit = 0.5 * (low + best) if math.isfinite(best) else low + error
        return best

    def chance(self, limit: float, level: float) -> float:
        """Return the p-value."""
        if not all(self.rows):
            return 1.0
        return _Region(self, level).chance(limit)

    def line(self, limit: float) -> tuple[float, float, float]:
        """Return (a, b, c): the number is at least `limit` where ``a p_1 - b p_2 >= c``."""
        a, b = self.factors
        if not self.ratio:
            return a, b, limit - self.offset
        return a, b * math.exp(min(limit, 600.0)), 0.0

    def _approximate(self, hits: np.ndarray, z: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the number and its standard error by the normal approximation (Agresti & Caffo 2000)."""
        extra = 0.25 * z * z
        rows = np.reshape([n + 2.0 * extra for n in self.rows], (2,) + (1,) * (hits.ndim - 1))
        p = (hits + extra) / rows
        a, b = self.factors
        if self.ratio:
            centre = np.log(a * p[0] / (b * p[1]))
            return centre, np.sqrt(((1.0 - p) / (p * rows)).sum(axis=0))
        variance = p * (1.0 - p) / rows
        return a * p[0] - b * p[1] + self.offset, np.sqrt(a * a * variance[0] + b * b * variance[1])

    def guess(self, hits: np.ndarray, z: float) -> np.ndarray:
        """Return the approximate upper limit by which outcomes are ordered."""
        centre, error = self._approximate(hits, z)
        return centre + z * error


class _Region:
    """The outcomes up to the one observed, and the largest chance of them."""

    def __init__(self, rates: TwoRates, level: float) -> None:
        self._rates, self._z = rates, max(float(-ndtri(level)), 0.5)
        observed = np.array(rates.hits)
        # a hair more, so that the outcome observed belongs to it in spite of rounding
        self._highest = float(rates.guess(observed, self._z))
        self._highest += 1e-12 * max(1.0, abs(self._highest))
        self._error = float(rates._approximate(observed, self._z)[1])
        spreads = [f * math.sqrt(n) / n for f, n in zip(rates.factors, rates.rows)]
        self._free = int(spreads[1] < spreads[0])  # the rate that is better known
        self._spent = FREE_SHARE * level

    def chance(self, limit: float) -> float:
        """Return the largest probability of the region where the number is at least `limit`."""
        p, q = self._cells(limit)
        if not p.size:
            return self._spent
        first = Window.of(self._rates.rows[0], p)
        second = Window.of(self._rates.rows[1], q)
        least = self._least(first.hits)
        beyond, inside = second.at_least(q, least)
        below = first.pmf(p)
        chances = (below * inside).sum(axis=1) + np.maximum(1.0 - below.sum(axis=1), 0.0) + beyond
        return min(1.0, float(chances.max()) + self._spent + 1e-12)

    def _cells(self, limit: float) -> tuple[np.ndarray, np.ndarray]:
        """Return for every cell the lowest `p_1` and the highest `p_2`, where it has points of the null."""
        a, b, c = self._rates.line(limit)
        low, high = self._interval
        f = self._rates.factors[self._free]
        scale = self._error if not self._rates.ratio else self._error * f * max(high, 1e-9)
        count = int(np.clip((high - low) * f * CELLS_PER_ERROR / max(scale, 1e-12), 1, 400))
        ends = np.linspace(low, high, count + 1)
        if self._free == 1:
            p, q = (c + b * ends[:-1]) / a, ends[1:]
            there = p <= 1.0
        else:
            p, q = ends[:-1], (a * ends[1:] - c) / b
            there = q >= 0.0
        return np.clip(p[there], 0.0, 1.0), np.clip(q[there], 0.0, 1.0)

    @cached_property
    def _interval(self) -> tuple[float, float]:
        """An exact interval of the probability left free."""
        x, n = self._rates.hits[self._free], self._rates.rows[self._free]
        tail = 0.5 * self._spent
        low = 0.0 if x == 0 else float(betaincinv(x, n - x + 1, tail))
        high = 1.0 if x == n else float(betaincinv(x + 1, n - x, 1.0 - tail))
        return low, high

    def _least(self, first: np.ndarray) -> np.ndarray:
        """Return the least hits of the second rate with which an outcome is in the region."""
        n = self._rates.rows[1]
        low, high = np.zeros(first.size), np.full(first.size, n + 1.0)
        while (high - low > 0.5).any():  # the limit falls in the hits of the second rate
            middle = np.floor(0.5 * (low + high))
            inside = (
                self._rates.guess(np.stack((first, np.minimum(middle, n))), self._z)
                <= self._highest
            )
            inside &= middle <= n
            high = np.where(inside, middle, high)
            low = np.where(inside, low, middle + 1.0)
            low = np.minimum(low, high)
        return np.minimum.accumulate(high[::-1])[::-1]  # the staircase that holds them all
