"""The step rules that iMELa and SP-LM share: how fast multipliers and centre move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise._problem import Point
from equipoise.solvers._parts.estimates import constraint_slope

# A slope of the constraints below this share of the largest one seen counts as that share: where it
# vanishes, the step of the multipliers would be infinite. Chosen.
LEAST_SLOPE_SHARE = 0.1

# A step of the multipliers is at most this. Chosen: far above any that is of use.
LARGEST = 1e200

# A pair is clearly better where its residual is below this share of the best one before. Chosen.
CLEARLY_BETTER = 0.9


@dataclass(frozen=True)
class DualStep:
    """``tau = modulus / |J|^2``, with ``|J|`` measured over the constraints in play."""

    tau: float = 0.0
    slope: float = 0.0  # largest |J| seen

    def measured(self, point: Point, lam: np.ndarray, modulus: float) -> DualStep:
        """Return the step for the slope at `point`."""
        here = constraint_slope(point, lam)
        slope = max(here, self.slope)
        if slope == 0.0:
            return DualStep(0.0, 0.0)
        steep = max(here, LEAST_SLOPE_SHARE * slope)
        # the square of a huge slope overflows, the inverse of that of a tiny one too
        return DualStep(min(modulus / steep / steep, LARGEST), slope)


@dataclass(frozen=True)
class CentreStep:
    """theta, halved while no progress is made: with too large a centre step the methods cycle."""

    theta: float
    stale: int = 0  # steps since a clearly better pair, or since theta was halved

    def after(self, residual: float, best: float, patience: int, least_theta: float) -> CentreStep:
        """Return the step after a pair with this residual, the least before it being `best`."""
        stale = 0 if residual < CLEARLY_BETTER * best else self.stale + 1
        if stale < patience:
            return CentreStep(self.theta, stale)
        return CentreStep(max(0.5 * self.theta, least_theta))
