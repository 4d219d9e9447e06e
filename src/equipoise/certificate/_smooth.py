"""Strongly convex problems with smooth functions, solved to high accuracy.

The method is an augmented Lagrangian whose subproblems are solved by accelerated projected gradients.
The examiner has its own, so that it depends on none of the solvers it judges.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from equipoise._array import norm
from equipoise._errors import NonFiniteError
from equipoise._problem import Problem
from equipoise.certificate._residuals import Residuals
from equipoise.problems import ProximalProblem
from equipoise.sets import Set

# Updates of the multipliers at the most; each lowers the tolerance tenfold, so few are needed.
# Chosen.
MAX_LOOPS = 40

# The penalty grows until the violation falls to a quarter from loop to loop (Bertsekas 1982);
# chosen.
FIRST_PENALTY, PENALTY_GROWTH, MAX_PENALTY = 10.0, 3.0, 1e8

# Accelerated steps at the most for one subproblem; chosen.
MAX_STEPS = 20_000

# Loops without progress in the violation (there is no feasible point), or steps that move
# nothing; chosen.
PATIENCE = 5

# A function that bends more is not smooth, or not finite. Chosen.
MAX_CURVATURE = 1e30

# The estimate of the curvature is lowered by this factor at every step, and doubled where it
# proves too low. Chosen.
CURVATURE_DECAY = 0.95

Smooth = Callable[[np.ndarray], tuple[float, np.ndarray]]


def minimise_smooth(
    problem: ProximalProblem, mu: float, tol: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the minimiser, its multipliers and a bound on the minimiser's error.

    `mu` is the strong-convexity modulus that every function has.
    """
    y = problem.domain.project(problem.center)
    lam = np.zeros(problem.n_constraints)
    penalty = FIRST_PENALTY
    best = (y, lam, math.inf)
    last_violation, stuck = math.inf, 0
    accuracy = 1e-2
    for _ in range(MAX_LOOPS):

        def lagrangian(z: np.ndarray) -> tuple[float, np.ndarray]:
            point = problem.at(z)
            pushed = np.maximum(lam + penalty * point.constraints, 0.0)  # noqa: B023
            value = point.objective + (pushed @ pushed - lam @ lam) / (2 * penalty)  # noqa: B023
            return float(value), point.lagrangian_gradient(pushed)

        try:
            y = accelerated(lagrangian, problem.domain, y, accuracy)
        except NonFiniteError:
            break  # the best so far is what is known
        point = problem.at(y)
        lam = np.maximum(lam + penalty * point.constraints, 0.0)
        error = _error(problem, y, lam, mu)
        if error < best[2]:
            best = (y, lam, error)
        stuck = stuck + 1 if point.violation > max(0.9 * last_violation, 1e-6) else 0
        if best[2] <= tol or stuck > PATIENCE:
            break
        if point.violation > 0.25 * last_violation and point.violation > 1e-15:
            penalty = min(PENALTY_GROWTH * penalty, MAX_PENALTY)
        last_violation = point.violation
        accuracy = max(0.1 * accuracy, 1e-13)
    return best


def _error(problem: Problem, y: np.ndarray, lam: np.ndarray, mu: float) -> float:
    r"""Bound the distance of `y` from the minimiser, from its KKT residuals.

    Let d be the distance, s the stationarity and v the violation. The Lagrangian is strongly convex
    at `lam` and at the exact multipliers, so either ``d^2 <= 2 v / mu``, or
    ``mu (2 + |lam|_1) / 2 d^2 <= s d - lam'F(y)``.
    """
    point = problem.at(y)
    residuals = Residuals.at(problem, point, lam)
    s, gap = residuals.stationarity, max(0.0, -float(lam @ point.constraints))
    modulus = mu * (2 + lam.sum())
    root = (s + math.sqrt(s * s + 2 * modulus * gap)) / modulus
    return max(math.sqrt(2 * residuals.violation / mu), root)


def accelerated(function: Smooth, domain: Set, y: np.ndarray, tol: float) -> np.ndarray:
    """Minimise a smooth convex function on a set by FISTA with backtracking and restarts.

    It stops where the gradient mapping is at most `tol`, or where rounding ends progress. The momentum
    starts again where it points uphill (O'Donoghue & Candes 2015).
    """
    x, z, momentum = y, y, 1.0
    lipschitz = 1.0
    value, gradient = function(z)
    idle = 0
    for _ in range(MAX_STEPS):
        while True:
            new = domain.project(z - gradient / lipschitz)
            step = new - z
            new_value, new_gradient = function(new)
            slack = 1e-14 * max(1.0, abs(value))
            if new_value <= value + gradient @ step + 0.5 * lipschitz * (step @ step) + slack:
                break
            lipschitz *= 2.0
            if lipschitz > MAX_CURVATURE:
                return x
        mapping = lipschitz * norm(step)
        idle = idle + 1 if norm(new - x) <= 1e-16 * max(1.0, norm(x)) else 0
        if mapping <= tol or idle > PATIENCE:
            return new
        if (z - new) @ (new - x) > 0:
            momentum = 1.0
            z, value, gradient = new, new_value, new_gradient
        else:
            ahead = 0.5 * (1 + math.sqrt(1 + 4 * momentum**2))
            z = new + ((momentum - 1) / ahead) * (new - x)
            momentum = ahead
            value, gradient = function(z)
        x = new
        lipschitz *= CURVATURE_DECAY
    return x
