"""A point with multipliers, measured by the KKT conditions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise._array import Array, norm
from equipoise.problem import Point, Problem


@dataclass(frozen=True)
class Pair:
    """A point with multipliers, and how far they are from the KKT conditions."""

    x: Array  # (d,)
    lam: np.ndarray  # (m,)
    gradient: Array  # (d,) of the Lagrangian
    residual: float  # the largest of stationarity, violation and complementarity


def pair_at(problem: Problem, point: Point, lam: np.ndarray) -> Pair:
    """Return the pair of an evaluated point: one backward pass."""
    gradient = point.lagrangian_gradient(lam)
    residual = norm(problem.domain.tangent(point.x, -gradient))
    if lam.size:
        complementarity = float(np.abs(lam * point.constraints).sum())
        residual = max(residual, point.violation, complementarity)
    return Pair(point.x, lam, gradient, residual)
