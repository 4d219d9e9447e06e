"""What is stated of the curvature at a point: bounds, and what they are worth."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

# Curvature that is not below minus this share of the largest one counts as non-negative. Chosen: two
# digits above the error of differences.
NON_NEGATIVE_WITHIN = 1e-5


@dataclass(frozen=True)
class Curvature:
    """The least curvature ``v'Hv / |v|^2`` over critical directions lies between `lower` and `upper`.

    Attributes
    ----------
    lower, upper : float
        Both are infinite where no direction is critical; 0 and infinity where the problem is convex, and
        nothing was computed. `lower` is minus infinity where no bound is known.
    largest : float
        The largest curvature that was met, without its sign: the scale of the others.
    direction : ndarray of shape (d,) or None
        A direction of length 1 that bends the least among those looked at. It need not be critical
        where constraints are weakly active.
    along : float
        The curvature along `direction`.
    worth : str
        What the bounds rest on: "proved", "by differences" of gradients, or "in probability", where
        the cone has more dimensions than products were taken.
    """

    lower: float
    upper: float
    largest: float = 0.0
    direction: np.ndarray | None = field(default=None, repr=False)
    along: float = math.inf
    worth: str = "proved"

    @property
    def positive(self) -> bool:
        """Whether even the direction that bends the least clearly bends up."""
        return self.along > NON_NEGATIVE_WITHIN * self.largest

    @property
    def negative(self) -> bool:
        """Whether some critical direction bends down: the point is a saddle or a maximum."""
        return self.upper < 0.0

    @property
    def non_negative(self) -> bool:
        """Whether no critical direction bends down, but for a 1e-5 of the largest curvature."""
        return self.lower >= -NON_NEGATIVE_WITHIN * self.largest

    def __str__(self) -> str:
        if self.upper == math.inf and self.non_negative:
            return "non-negative (proved)"
        if self.negative:
            return f"{self.upper:.2e} ({self.worth}): a saddle or a maximum"
        if self.non_negative:
            return f"non-negative, at least {self.lower:.2e} ({self.worth})"
        return f"undecided, between {self.lower:.2e} and {self.upper:.2e} ({self.worth})"


NOWHERE_NEGATIVE = Curvature(0.0, math.inf)
"""What holds for convex functions, without any product."""

NO_DIRECTION = Curvature(math.inf, math.inf)
"""What holds where no direction is critical: the point is a strict local minimum."""
