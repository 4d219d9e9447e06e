"""Infeasibility: whether a point that violates a constraint is stationary for the violation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from equipoise import _check
from equipoise._array import norm, to_numpy
from equipoise._problem import Point, Problem
from equipoise.certificate._cutting_planes import minimise_with_kinks
from equipoise.certificate._pieces import least_by_pieces
from equipoise.problems import Maximum, MeritProblem, ProximalProblem

# Only this many constraints are looked at, the largest first: one gradient each. Chosen.
MAX_CONSTRAINTS = 64

# A point counts as stationary where moving anywhere lowers the violation by at most this share,
# to first order; chosen.
ALLOWED_FALL = 0.1

# Fits with another piece of the projection on the tangent cone at the most, and the share of the slope that
# is not worth another one; chosen.
PIECES, NOTHING = 20, 1e-12

# On an unbounded domain a move of this many times ``max(1, |x|)`` counts as the longest; chosen.
REACH_OF_UNBOUNDED = 100.0


@dataclass(frozen=True)
class Infeasibility:
    """The violation at a point, and what keeps it from falling.

    Attributes
    ----------
    violation : float
        ``max(0, g(x))`` with ``g = max_i f_i``.
    stationarity : float
        The least norm of ``sum_i alpha_i grad f_i + N_X(x)`` over ``alpha >= 0`` with
        ``sum_i alpha_i f_i(x) = 1``: 0 means that no direction lowers this sum.
    weights : dict
        The blocking constraints and their share in that combination.
    reach : float
        The diameter of the domain (or a multiple of ``|x|`` where it is unbounded).
    """

    violation: float
    stationarity: float
    weights: dict[str, float]
    reach: float

    @property
    def is_stationary(self) -> bool:
        """Whether moving anywhere in the domain lowers the sum by at most a tenth, to first order.

        Some constraint then stays violated; for convex constraints that is a proof (Farkas).
        """
        return self.violation > 0 and self.stationarity * self.reach <= ALLOWED_FALL


def diagnose(problem: Problem, point: Point) -> Infeasibility:
    """Look for a combination of constraints that no direction lowers, at an evaluated point."""
    _check.kind("diagnose", "problem", problem, Problem)
    _check.kind("diagnose", "point", point, Point)
    x, values = to_numpy(point.x), point.constraints
    diameter = problem.domain.diameter
    reach = diameter if math.isfinite(diameter) else REACH_OF_UNBOUNDED * max(1.0, norm(x))
    violation = point.violation
    if violation == 0.0:
        return Infeasibility(0.0, math.inf, {}, reach)
    # A combination with satisfied constraints proves something only where all are convex.
    floor = -violation if problem.facts.convex_constraints else 0.0
    largest = np.flatnonzero(values > floor)
    largest = largest[np.argsort(-values[largest], kind="stable")][:MAX_CONSTRAINTS]
    f = values[largest] / violation
    rows = to_numpy(point.gradients(1 + largest)) / violation
    if not np.isfinite(rows).all():
        return Infeasibility(violation, math.inf, {}, reach)
    alpha, best = _least(problem, x, rows, f)
    if problem.facts.smooth is not True and best * reach > ALLOWED_FALL:
        best = min(best, _envelope_slope(problem, x, reach) / violation)
    total = alpha.sum()
    blocking = {
        problem.names[int(i)]: float(share / total)
        for i, share in zip(largest, alpha)
        if share > 1e-6 * total
    }
    return Infeasibility(violation, best, blocking, reach)


def _least(
    problem: Problem, x: np.ndarray, rows: np.ndarray, f: np.ndarray
) -> tuple[np.ndarray, float]:
    """Minimise ``|tangent(-alpha'rows)|`` over ``alpha >= 0, alpha'f = 1``.

    The tangent projection is linear on pieces. On one of them, with the equation as one more row of a
    least-squares problem, the minimiser is some multiple of the one sought, whatever that row weighs
    (Wolfe 1976).
    """
    scale = max(norm(row) for row in rows) or 1.0

    def slope(alpha: np.ndarray) -> float:
        return norm(problem.domain.tangent(x, -alpha @ rows))

    def on_piece(alpha: np.ndarray) -> np.ndarray:
        piece = problem.domain.tangent_map(x, -alpha @ rows)
        try:
            ahead, _ = nnls(np.vstack((piece(rows).T / scale, f)), np.eye(x.size + 1)[-1])
        except RuntimeError:  # it cycles where columns depend on each other
            return alpha
        total = float(ahead @ f)
        return ahead / total if total > 0.0 else alpha

    start = np.eye(f.size)[0] / f[0]  # all on the most violated constraint
    alpha = least_by_pieces(slope, on_piece, start, PIECES, NOTHING)
    return alpha, slope(alpha)


def _envelope_slope(problem: Problem, x: np.ndarray, reach: float) -> float:
    """Bound the gradient of g's Moreau envelope at `x`: unlike a subgradient, it vanishes at a kink.

    The prox parameter makes the proximal step as long as the domain at the most, whatever the unit of g.
    """
    rho = 0.0 if problem.facts.convex_constraints else problem.facts.weak_convexity
    if rho is None:
        return math.inf
    g = MeritProblem(problem, Maximum(level=math.inf))
    rho_hat = max(norm(to_numpy(g.at(x).gradient(0))) / reach, 2 * rho)
    if not 0.0 < rho_hat < math.inf:
        return 0.0 if rho_hat == 0.0 else math.inf
    witness, _, error = minimise_with_kinks(ProximalProblem(g, x, rho_hat), rho, 1e-6)
    return rho_hat * (norm(witness - x) + error)
