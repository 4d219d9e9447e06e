"""The step sizes of constraint extrapolation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise._array import norm
from equipoise.problem import Point, Problem


@dataclass(frozen=True)
class Schedule:
    """The step sizes; eta and tau are *inverse* step lengths."""

    a: float  # strong-convexity modulus
    t0: float  # 4 (L0 + B Lf) / a + 2
    Mf: float  # Lipschitz constant of the constraints as one vector

    def theta(self, t: int) -> float:
        """How much of the last change is extrapolated."""
        return (t + self.t0 + 1) / (t + self.t0 + 2)

    def eta(self, t: int) -> float:
        """Primal step length, inverse."""
        return self.a * (t + self.t0 + 1) / 2

    def tau(self, t: int) -> float:
        """Dual step length, inverse."""
        return 32 * (2 * self.Mf) ** 2 / (self.a * (t + 1))

    def gamma(self, t: int) -> float:
        """The weight in the mean."""
        return t + self.t0 + 2

    @classmethod
    def of(
        cls,
        problem: Problem,
        start: Point,
        mu: float,
        multiplier_bound: float,
        constants: tuple[float | None, float | None, float | None],
    ) -> Schedule:
        """Fill in those of the constants (L0, Lf, Mf) that were not given."""
        L0, Lf, Mf = constants
        facts, root = problem.facts, math.sqrt(max(1, problem.n_constraints))
        L = 2 * mu if facts.smoothness is None else facts.smoothness
        L0 = L if L0 is None else L0
        Lf = root * L if Lf is None else Lf
        if Mf is None and facts.lipschitz is not None and math.isfinite(facts.lipschitz):
            Mf = root * facts.lipschitz
        if Mf is None:
            slopes = [norm(start.gradient(i + 1)) for i in range(problem.n_constraints)]
            Mf = 2 * norm(np.array(slopes)) if any(slopes) else 1.0
        return cls(mu, 4 * (L0 + multiplier_bound * Lf) / mu + 2, Mf)
