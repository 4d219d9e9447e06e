"""Boxes: sums, shares and ratios of measures that are not independent, by an interval of each."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

from equipoise.auditing._measure import Measure
from equipoise.auditing._one_rate import OneRate


@final
@dataclass(frozen=True)
class SumOfMeasures(Measure):
    """A sum of measures whose rows overlap: each gets its share of the error."""

    parts: tuple[Measure, ...]

    @property
    def value(self) -> float:
        """The sum of the values."""
        return sum(part.value for part in self.parts)

    @property
    def spread(self) -> float:
        """The sum of the standard errors."""
        return sum(part.spread for part in self.parts)

    @property
    def fewest(self) -> int:
        """The fewest of all parts."""
        return min(part.fewest for part in self.parts)

    def mirrored(self) -> SumOfMeasures:
        """Return minus the sum."""
        return SumOfMeasures(tuple(part.mirrored() for part in self.parts))

    def upper(self, level: float) -> float:
        """Return the sum of the limits."""
        return sum(part.upper(level / len(self.parts)) for part in self.parts)

    def chance(self, limit: float, level: float) -> float:
        """Return `level` where the limit is not reached at that level, else 1."""
        return level if self.upper(level) < limit else 1.0


@final
@dataclass(frozen=True)
class ShareOfMeasure(Measure):
    """``offset + share * measure``, by an interval of each."""

    share: OneRate
    measure: Measure
    offset: float = 0.0

    @property
    def value(self) -> float:
        """What both values give; where the share is 0, the measure may have none."""
        share = self.share.value
        return self.offset + (share * self.measure.value if share else 0.0)

    @property
    def spread(self) -> float:
        """By the slopes in both."""
        share, value = self.share.value, self.measure.value
        return share * self.measure.spread + (abs(value) * self.share.spread if share else 0.0)

    @property
    def fewest(self) -> int:
        """Those of the measure."""
        return self.measure.fewest

    def mirrored(self) -> ShareOfMeasure:
        """Return minus the number."""
        return replace(self, measure=self.measure.mirrored(), offset=-self.offset)

    def upper(self, level: float) -> float:
        """Return the largest number that the three limits allow."""
        end = self.measure.upper(level / 3.0)
        side = self.share.upper if end > 0.0 else self.share.lower
        return self.offset + side(level / 3.0) * end

    def chance(self, limit: float, level: float) -> float:
        """Return `level` where the limit is not reached at that level, else 1."""
        return level if self.upper(level) < limit else 1.0


@final
@dataclass(frozen=True)
class RatioOfMeasures(Measure):
    """A ratio of measures whose rows overlap, or of sums: an interval of each gives one of the ratio."""

    above: Measure
    below: Measure  # the denominator, which is not negative
    negative: bool = False  # minus the ratio, for mirror images

    @property
    def value(self) -> float:
        """The ratio of the values; NaN where the denominator is 0."""
        below = self.below.value
        ratio = self.above.value / below if below else math.nan
        return -ratio if self.negative else ratio

    @property
    def spread(self) -> float:
        """By the slopes in both."""
        below = self.below.value
        if not below:
            return math.inf
        return (self.above.spread + abs(self.value) * self.below.spread) / abs(below)

    @property
    def fewest(self) -> int:
        """The fewest of both."""
        return min(self.above.fewest, self.below.fewest)

    def mirrored(self) -> RatioOfMeasures:
        """Return minus the ratio."""
        return replace(self, negative=not self.negative)

    def upper(self, level: float) -> float:
        """Return the largest ratio of the two intervals; infinite where the denominator may be 0."""
        low, high = self.below.lower(level / 3.0), self.below.upper(level / 3.0)
        if low <= 0.0:
            return math.inf
        end = -self.above.lower(level / 3.0) if self.negative else self.above.upper(level / 3.0)
        return max(end / low, end / high)

    def chance(self, limit: float, level: float) -> float:
        """Return `level` where the limit is not reached at that level, else 1."""
        return level if self.upper(level) < limit else 1.0
