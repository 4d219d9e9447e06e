"""A point with multipliers, measured by the KKT conditions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise._array import Array
from equipoise._problem import Point, Problem
from equipoise.certificate import Residuals


@dataclass(frozen=True)
class Pair:
    """A point with multipliers, and how far they are from the KKT conditions."""

    x: Array  # (d,)
    lam: np.ndarray  # (m,)
    gradient: Array  # (d,) of the Lagrangian
    residual: float  # the largest of the examiner's `Residuals`


def pair_at(problem: Problem, point: Point, lam: np.ndarray) -> Pair:
    """Return the pair of an evaluated point; it costs one backward pass."""
    gradient = point.lagrangian_gradient(lam)
    return Pair(point.x, lam, gradient, Residuals.at(problem, point, lam, gradient).largest)
