"""The KKT sum of P004, and the pair for which it is the least."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise._array import Array, norm
from equipoise.problem import Point, Problem


@dataclass(frozen=True)
class KKT:
    """The residuals of a pair (x, lam), as P004 measures them."""

    stationarity: float  # dist(-grad f_0 - lam'grad f, N_X)
    violation: float  # |[f]_+|
    complementarity: float  # sum_i |lam_i f_i|

    @classmethod
    def at(cls, problem: Problem, point: Point, lam: np.ndarray, uphill: Array) -> KKT:
        """Measure them; `uphill` is the Lagrangian's gradient."""
        f = point.constraints
        return cls(
            problem.domain.normal_distance(point.x, -uphill),
            norm(np.maximum(f, 0.0)),
            float(np.abs(lam * f).sum()),
        )

    @property
    def sum(self) -> float:
        """The score of P004."""
        return self.stationarity + self.violation + self.complementarity

    @property
    def largest(self) -> float:
        """The largest of the three."""
        return max(self.stationarity, self.violation, self.complementarity)

    @property
    def bias(self) -> float:
        """What a penalty leaves: the larger of violation and complementarity."""
        return max(self.violation, self.complementarity)


@dataclass(frozen=True)
class Pair:
    """A point, its multipliers and their KKT sum."""

    x: Array  # (d,)
    lam: np.ndarray  # (m,)
    kkt: float = math.inf

    def or_better(self, x: Array, lam: np.ndarray, kkt: float) -> Pair:
        """Return the pair with the lesser sum."""
        return Pair(x, lam, kkt) if kkt < self.kkt else self
