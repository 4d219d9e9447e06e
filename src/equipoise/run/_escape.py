"""Leaving a stationary point that is not a minimum, along a direction that bends down."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from equipoise._array import Array, like, norm, to_numpy
from equipoise._problem import NonFiniteError, Point, Problem
from equipoise.certificate import Certificate, Curvature
from equipoise.problems import AugmentedLagrangianMerit, Merit
from equipoise.problems._merit import Violation
from equipoise.solvers import Solver
from equipoise.solvers._parts.warm_start import FinishedPart

# How often a run may leave a point. Chosen: a run that comes back again and again goes nowhere.
MAX_DEPARTURES = 10

# The penalty of the merit that a move must lower: the one that warm-started methods begin with. Chosen.
PENALTY = 30.0

# The first length that is tried, relative to max(1, |x|), and the factors by which it is shortened until
# the merit falls, and lengthened while it falls. Chosen: far enough not to be drawn back.
FIRST_LENGTH, SHORTER, LONGER = 0.1, 0.1, 2.0

# How often it may be shortened, where the direction bends down, and where it may be flat; how often
# lengthened. Chosen: from 1e-7 to 1e5.
SHORTER_AT_MOST, SHORTER_IF_FLAT, LONGER_AT_MOST = 6, 1, 20

# Along a flat direction the merit may only seem to fall, by as much as the gradient is not 0: a move must
# lower it by this many times the residual. Chosen.
RESIDUALS_TO_FALL = 10.0

# Where no tolerance is asked for, a residual up to this one makes a KKT point. Chosen.
KKT_WITHOUT_TOL = 1e-6

# A start is stationary where residual or relative slope are at most this, but for rounding. Chosen.
STUCK = 1e-12

# Both sides of a direction count as alike where the merits there fall by the same, but for this share.
# Chosen: rounding errors are far less.
ALIKE = 1e-6

# A move that is to lower the violation must leave at most this share of its square. Chosen.
LOWER_VIOLATION = 0.9


@dataclass(frozen=True)
class Departures:
    """What a run remembers of the points it has left; stored with it."""

    count: int = 0
    began: int = 0  # the step with which the method started again
    multipliers: np.ndarray | None = None  # (m,) with which it did, where it left a KKT point
    left: Certificate | None = None  # the lowest KKT point that was left

    def restart(self, solver: Solver) -> Solver:
        """Return the method as it started again: warm, after a KKT point."""
        if self.multipliers is None:
            return solver
        return solver.warm_started(FinishedPart(self.multipliers, None, True))

    def after(self, t: int, certificate: Certificate, tol: float) -> Departures:
        """Remember that the run left this point at step `t`."""
        if not is_kkt(certificate, tol):
            return replace(self, count=self.count + 1, began=t, multipliers=None)
        lower = self.left is None or certificate.objective < self.left.objective
        left = certificate if lower else self.left
        return Departures(self.count + 1, t, certificate.multipliers, left)

    def better(self, certificate: Certificate, tol: float) -> Certificate:
        """Return the lowest KKT point that was left, if a run ended worse than there."""
        if self.left is None or certificate.residual <= tol:
            return certificate
        feasible = certificate.violation <= max(tol, self.left.violation)
        return (
            certificate if feasible and certificate.objective < self.left.objective else self.left
        )


def is_kkt(certificate: Certificate, tol: float) -> bool:
    """Whether the point meets the first-order conditions, also where no tolerance is asked for."""
    return certificate.residual <= max(tol, KKT_WITHOUT_TOL)


def starts_stuck(problem: Problem, point: Point, certificate: Certificate) -> bool:
    """Whether a start is stationary: a KKT point, or one where the violation has no slope."""
    over = np.maximum(point.constraints, 0.0)
    if certificate.residual <= STUCK or not over.any():
        return certificate.residual <= STUCK
    slope = point.vjp(np.concatenate(([0.0], over)))
    return problem.domain.normal_distance(point.x, -slope) <= STUCK * float(over @ over)


def from_kkt_point(problem: Problem, point: Point, certificate: Certificate) -> Array | None:
    """Return a point with a lower augmented Lagrangian than a KKT point; None where none is found."""
    found = certificate.curvature
    if found is None or found.positive:
        return None
    rounding = 1e3 * problem.facts.rounding * max(1.0, abs(point.objective))
    merit = AugmentedLagrangianMerit(certificate.multipliers, PENALTY)
    return _search(problem, point, merit, found, RESIDUALS_TO_FALL * certificate.residual, rounding)


def from_violation(problem: Problem, point: Point, found: Curvature | None) -> Array | None:
    """Return a point with a lower violation than one that is stationary for it; None without one."""
    if found is None or found.positive:
        return None
    here = Violation()(point.values)[0]
    new = _search(problem, point, Violation(), found, 0.0, 0.0)
    if new is None or _merit_at(problem, Violation(), new) > LOWER_VIOLATION * here:
        return None
    return new


def _search(
    problem: Problem, point: Point, merit: Merit, found: Curvature, slope: float, least: float
) -> Array | None:
    """Search along both signs of the direction, on the domain; return the lowest point found.

    The merit must fall by more than ``slope`` times the length of the move, and `least`. Of two sides that
    are alike, that on which the objective falls is taken.
    """
    if found.direction is None:
        return None
    ahead = found.direction
    if float(to_numpy(point.gradient(0)) @ ahead) > 0.0:
        ahead = -ahead
    x, here = to_numpy(point.x), merit(point.values)[0]
    shorter = SHORTER_AT_MOST if found.negative else SHORTER_IF_FLAT
    first = FIRST_LENGTH * max(1.0, norm(x))
    best: tuple[float, Array | None] = (math.inf, None)
    for v in (ahead, -ahead):
        lengths = [first * SHORTER**k for k in range(shorter + 1)]
        lowest = math.inf
        while lengths:
            length = lengths.pop(0)
            new = problem.domain.project(like(x + length * v, point.x))
            value = _merit_at(problem, merit, new)
            if value < min(lowest, here - slope * norm(to_numpy(new) - x) - least):
                lowest = value
                best = (value, new) if value < best[0] - ALIKE * (here - value) else best
                longer = LONGER * length
                lengths = [longer] if longer <= first * LONGER**LONGER_AT_MOST else []
            elif lowest < math.inf:
                break
    return best[1]


def _merit_at(problem: Problem, merit: Merit, x: Array) -> float:
    try:
        value = merit(problem.at(x).values)[0]
    except NonFiniteError:
        return math.inf
    return value if math.isfinite(value) else math.inf
