"""One rate: exact binomial limits (Clopper & Pearson 1934)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

from scipy.special import betaincinv
from scipy.stats import binom

from equipoise.auditing._measure import Measure


@final
@dataclass(frozen=True)
class OneRate(Measure):
    """``offset + factor * p`` for `hits` among `rows` independent draws of probability `p`."""

    hits: int
    rows: int
    factor: float = 1.0  # positive: a falling function is one of the share that is no hit
    offset: float = 0.0

    @staticmethod
    def of(hits: int, rows: int, factor: float, offset: float = 0.0) -> OneRate:
        """Return the measure for a factor of either sign."""
        if factor < 0:
            return OneRate(rows - hits, rows, -factor, offset + factor)
        return OneRate(hits, rows, factor, offset)

    @property
    def share(self) -> float:
        """The share of hits."""
        return self.hits / self.rows if self.rows else math.nan

    @property
    def value(self) -> float:
        """What the share gives."""
        return self.offset + self.factor * self.share

    @property
    def spread(self) -> float:
        """The standard error, from a share drawn a little towards one half."""
        share = (self.hits + 1.0) / (self.rows + 2.0)
        return self.factor * math.sqrt(share * (1.0 - share) / max(self.rows, 1))

    def spread_at(self, limit: float) -> float:
        """Return the standard error at the share that gives `limit`, or at the share at hand."""
        share = min(max((limit - self.offset) / self.factor, 0.0), 1.0)
        return max(self.spread, self.factor * math.sqrt(share * (1.0 - share) / max(self.rows, 1)))

    @property
    def fewest(self) -> int:
        """The rows."""
        return self.rows

    def upper(self, level: float) -> float:
        """Return the largest value that would give so few hits with probability `level`."""
        p = 1.0
        if self.hits < self.rows:
            p = float(betaincinv(self.hits + 1, self.rows - self.hits, 1.0 - level))
        return self.offset + self.factor * p

    def chance(self, limit: float, level: float) -> float:
        """Return the probability of so few hits at the limit."""
        p = (limit - self.offset) / self.factor
        if p <= 0.0:
            return 1.0
        return 0.0 if p > 1.0 else float(binom.cdf(self.hits, self.rows, p))

    def mirrored(self) -> OneRate:
        """Return minus the rate: the share that is no hit, less 1."""
        return replace(self, hits=self.rows - self.hits, offset=-self.offset - self.factor)
