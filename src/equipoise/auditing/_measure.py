"""Measures: a number of the population, estimated from rows, with limits that are valid in finite samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final


class Measure(ABC):
    """A number of the population that the rows at hand say something of.

    "Upper" is all that a kind of measure must know; lower limits are upper limits of its mirror image.
    """

    @property
    @abstractmethod
    def value(self) -> float:
        """What the rows at hand measure; NaN without rows."""

    @property
    @abstractmethod
    def spread(self) -> float:
        """The standard error of the value, estimated; only to plan with."""

    def spread_at(self, limit: float) -> float:
        """Return the standard error if the number were `limit`; as it is where that is not known."""
        return self.spread

    @property
    @abstractmethod
    def fewest(self) -> int:
        """The fewest rows behind a part of it."""

    @abstractmethod
    def upper(self, level: float) -> float:
        """Return a limit that the number exceeds with probability `level` at the most."""

    @abstractmethod
    def chance(self, limit: float, level: float) -> float:
        """Return a p-value of "the number is at least `limit`".

        If that is so, the p-value is at most `p` with probability `p` at the most. `level` is where
        it is to be compared: methods may be sharpest there.
        """

    @abstractmethod
    def mirrored(self) -> Measure:
        """Return the measure of minus the number."""

    @final
    def lower(self, level: float) -> float:
        """Return a limit that the number falls short of with probability `level` at the most."""
        return 0.0 - self.mirrored().upper(level)  # no negative zero


@final
@dataclass(frozen=True)
class Mapped(Measure):
    """An increasing function of another measure."""

    measure: Measure
    forward: Callable[[float], float]
    back: Callable[[float], float]
    negative: bool = False  # of minus that function, for mirror images

    @property
    def value(self) -> float:
        """The function of the value."""
        return self._shown(self.measure.value)

    @property
    def spread(self) -> float:
        """By the slope at the value."""
        value, step = self.measure.value, 0.5 * self.measure.spread
        return abs(self._shown(value + step) - self._shown(value - step))

    @property
    def fewest(self) -> int:
        """Those of the measure."""
        return self.measure.fewest

    def upper(self, level: float) -> float:
        """Return the function of the limit."""
        return self._shown(self.measure.upper(level))

    def chance(self, limit: float, level: float) -> float:
        """Return the p-value at what the limit comes from."""
        inner = -self.back(-limit) if self.negative else self.back(limit)
        return self.measure.chance(inner, level)

    def mirrored(self) -> Mapped:
        """Return minus the function."""
        return Mapped(self.measure.mirrored(), self.forward, self.back, not self.negative)

    def _shown(self, value: float) -> float:
        return -self.forward(-value) if self.negative else self.forward(value)
