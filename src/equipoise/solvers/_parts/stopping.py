"""When a method of multipliers stops: by itself, and as an oracle."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from equipoise.certificate import Residuals
from equipoise.sets import Set


class StoppingRule(ABC):
    """When to stop, and how accurately to solve the subproblems on the way there."""

    @abstractmethod
    def tolerance(self, domain: Set, loop: int) -> float:
        """Return e_j, the distance of the negative gradient from the normal cone to reach in loop j."""

    @abstractmethod
    def reached(self, residuals: Residuals, gap: float) -> bool:
        """Whether a pair with these residuals and this bound on the objective gap is good enough."""


@dataclass(frozen=True)
class ResidualAtMost(StoppingRule):
    """The largest of the examiner's residuals is at most `tol`; ``e_j = max(10^-(j+1), tol / 2)``."""

    tol: float

    def tolerance(self, domain: Set, loop: int) -> float:
        """Return e_j."""
        return max(0.1 ** (loop + 1), 0.5 * self.tol)

    def reached(self, residuals: Residuals, gap: float) -> bool:
        """Whether all three residuals are small."""
        return residuals.largest <= self.tol


@dataclass(frozen=True)
class GapAndViolationAtMost(StoppingRule):
    """Objective gap and violation are at most `accuracy`, for functions with the modulus `mu`.

    The tolerance is such that by `gap_bound` an inexact subproblem adds at most a tenth of the accuracy.
    """

    accuracy: float
    mu: float

    def tolerance(self, domain: Set, loop: int) -> float:
        """Return the same tolerance for every loop."""
        if math.isfinite(domain.diameter):
            return self.accuracy / (10 * max(1.0, domain.diameter))
        return math.sqrt(0.2 * self.mu * self.accuracy)

    def reached(self, residuals: Residuals, gap: float) -> bool:
        """Whether both are small."""
        return max(residuals.violation, gap) <= self.accuracy


def gap_bound(domain: Set, mu: float, lam: np.ndarray, f: np.ndarray, distance: float) -> float:
    """Bound ``f_0(x) - f_0*`` by ``sum_i |lam_i f_i| + min(D dist, dist^2 / (2 mu))``.

    This holds for convex functions with the modulus `mu`. Here ``f = f(x)``, lam is that of an augmented
    Lagrangian, ``distance`` that of its negative gradient at x from the normal cone, D the diameter of
    the domain.
    """
    error = domain.diameter * distance
    if mu > 0:
        error = min(error, distance**2 / (2 * mu))
    return float(np.abs(lam * f).sum()) + error
