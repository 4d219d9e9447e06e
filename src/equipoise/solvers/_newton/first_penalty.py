"""The first penalty of the Newton method on the augmented Lagrangian."""

from __future__ import annotations

import numpy as np

from equipoise._array import norm
from equipoise._problem import Point, Problem

# The bounds of the first penalty. Chosen; it is raised where it is too small.
LEAST_PENALTY, LARGEST_PENALTY = 10.0, 1e4

# Constraints count as steep beyond this slope, or this many times the objective's slope where that
# is more than 1. Then the penalty falls with their squared slope, as the curvature it adds. Chosen.
STEEP = 30.0

# A violation that counts as none. Chosen.
FEASIBLE = 1e-6


# No penalty is less than this, as it is divided by. Chosen, far below all that ordinary functions ask for.
SMALLEST = 1e-200


def first_penalty_beside(problem: Problem, point: Point, slope: float) -> float:
    """Return a penalty for which the squared violation counts beside an objective of this slope."""
    if point.constraints.size == 0:
        return LEAST_PENALTY
    over = np.maximum(point.constraints, 0.0)
    if over.max() <= FEASIBLE:
        return _least(norm(point.gradient(point.worst)), slope)
    worst = float(over.max())
    shares = np.concatenate(([0.0], over / worst))  # products of huge values and gradients overflow
    pull = norm(problem.domain.tangent(point.x, -point.vjp(shares)))
    least = _least(pull / float(shares.sum()), slope)
    return float(np.clip(10 * slope / max(pull * worst, 1e-12), least, LARGEST_PENALTY))


def _least(steep: float, slope: float) -> float:
    ratio = max(1.0, steep / (STEEP * max(1.0, slope)))
    return max(LEAST_PENALTY / ratio / ratio, SMALLEST)  # the square of a huge ratio overflows
