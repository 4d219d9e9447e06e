"""The step rules that iMELa and SP-LM share: how fast multipliers and centre move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.problem import Point
from equipoise.solvers._parts.estimates import constraint_slope


@dataclass(frozen=True)
class DualStep:
    """``tau = modulus / |J|^2``, with ``|J|`` measured over the constraints in play."""

    tau: float = 0.0
    slope: float = 0.0  # largest |J| seen

    def measured(self, point: Point, lam: np.ndarray, modulus: float) -> DualStep:
        """Return the step at `point`; a slope that vanishes there counts as a tenth of the largest."""
        here = constraint_slope(point, lam)
        slope = max(here, self.slope)
        return DualStep(modulus / max(here, 0.1 * slope) ** 2 if slope > 0 else 0.0, slope)


@dataclass(frozen=True)
class CentreStep:
    """theta, halved while no progress is made: too large a centre step makes the methods cycle."""

    theta: float
    stale: int = 0  # steps since a clearly better pair, or since theta was halved

    def after(self, residual: float, best: float, patience: int, least: float) -> CentreStep:
        """Return the step after a pair with this residual, the least before it being `best`."""
        stale = 0 if residual < 0.9 * best else self.stale + 1
        if stale < patience:
            return CentreStep(self.theta, stale)
        return CentreStep(max(0.5 * self.theta, least))
