"""The filter: which trial points a line search accepts (Fletcher & Leyffer 2002)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

# A step must lower the violation by this share of it, or the objective by this multiple of the
# violation; values of Waechter & Biegler 2006.
LESS_VIOLATION, LESS_OBJECTIVE = 1e-5, 1e-8

# Where ``(-slope)^SLOPE_POWER > violation^VIOLATION_POWER`` for the step's slope of the objective, and the
# violation is small, the objective must fall by Armijo's rule; values of Waechter & Biegler 2006.
SLOPE_POWER, VIOLATION_POWER, SUFFICIENT_DECREASE = 2.3, 1.1, 1e-4

# The violation at which Armijo's rule comes in, and the most that is ever accepted, as multiples of that
# at the start or of 1; values of Waechter & Biegler 2006.
SMALL_VIOLATION, LARGEST_VIOLATION = 1e-4, 1e4


@dataclass(frozen=True)
class Filter:
    """Pairs of violation and objective that later points must not be worse than in both."""

    start: float  # the violation at the start, or 1 where that is more
    pairs: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))  # (k, 2)

    @property
    def most(self) -> float:
        """The largest violation that is ever accepted."""
        return LARGEST_VIOLATION * self.start

    def admits(self, violation: float, objective: float) -> bool:
        """Whether a point is better than every pair in one of the two."""
        if not violation <= self.most:
            return False
        return bool(((violation < self.pairs[:, 0]) | (objective < self.pairs[:, 1])).all())

    def armijo(self, violation: float, slope: float, s: float) -> bool:
        """Whether a step of length `s` is one for the objective, which must then fall enough."""
        if slope >= 0 or violation > SMALL_VIOLATION * self.start:
            return False
        return bool(s * (-slope) ** SLOPE_POWER > violation**VIOLATION_POWER)

    def accepts(
        self,
        old: tuple[float, float],
        new: tuple[float, float],
        slope: float,
        s: float,
        rounding: float,
    ) -> bool:
        """Whether the line search may end at `new`, a step of length `s` from `old`."""
        (theta, phi), (ahead, reached) = old, new
        if not self.admits(ahead, reached - rounding):
            return False
        if self.armijo(theta, slope, s):
            return reached <= phi + SUFFICIENT_DECREASE * s * slope + rounding
        less = ahead <= (1 - LESS_VIOLATION) * theta
        return less or reached <= phi - LESS_OBJECTIVE * theta + rounding

    def with_pair(self, violation: float, objective: float) -> Filter:
        """Return the filter with what a point must improve on from now on."""
        pair = (1 - LESS_VIOLATION) * violation, objective - LESS_OBJECTIVE * violation
        kept = self.pairs[
            (self.pairs < pair).any(axis=1)
        ]  # the others say no more than the new one
        return replace(self, pairs=np.vstack((kept, pair)))
