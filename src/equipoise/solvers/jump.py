"""The jump: one Newton step for the point and its multipliers together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from equipoise._array import Array, norm
from equipoise.problem import Point, Problem
from equipoise.problems.merit import AugmentedLagrangian
from equipoise.solvers.curvature import hessian
from equipoise.solvers.newton_cg import Direction, Map, conjugate_gradients

FAR = 100.0  # how far a jump may lead, relative to the point
WORSE = 10.0  # how much the residual may grow, where the merit falls
MANY = 32  # constraints that may be active, beyond which no jump is tried


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


def jump(
    problem: Problem,
    at: Pair,
    b: float,
    solve: Map,
    accuracy: float,
    rough: float = 1.0,
    floor: float = 0.0,
) -> Pair | None:
    """Return where sequential quadratic programming leads; None if it does not lower its merit.

    1. d <- truncated CG for ``H d = -grad L``, with H the Lagrangian's Hessian and F, an estimate of
       it, as preconditioner; give up at negative curvature
    2. Z <- rough CG for ``H Z = J'``, with J the gradients of constraints that may become active;
       mu >= 0 <- multipliers of ``min_w <grad L, w> + <w, H w> / 2  s.t. f_i + <J_i, w> <= 0``, with Z
       for the inverse of H applied to J'
    3. d <- d - Z (mu - lam)
    4. x <- P_X(x + s d), lam <- lam + s (mu - lam) with the first s = 1, 1/2, 1/4 that lowers the
       augmented Lagrangian of mu enough; s = 1 may raise it a little (curved constraints do) if the
       KKT residual falls to a half; give up if there is none

    Parameters
    ----------
    problem : Problem
    at : Pair
    b : float
        The penalty: constraints with ``lam_i > 0`` or ``lam_i + b f_i > 0`` may become active.
    solve : callable
        ``v -> F^-1 v``.
    accuracy : float
        The residual of line 1, relative to its start; with 1, F is taken for H.
    rough : float
        The same for line 2.
    floor : float
        A residual of line 1 that is small enough whatever its start.
    """
    x, lam, point = at.x, at.lam, problem.at(at.x)
    piece = problem.domain.tangent_map(x, -at.gradient)
    bend = problem.domain.bending(x, -at.gradient)
    product = hessian(problem, point, np.concatenate(([1.0], lam)))

    def solved(target: Array, accuracy: float, floor: float = 0.0) -> Direction:
        return conjugate_gradients(
            lambda v: piece(product(v) + bend * v),
            target,
            accuracy,
            floor,
            precondition=lambda v: piece(solve(v)),
        )

    newton = solved(piece(-at.gradient), accuracy, floor)  # 1
    candidates = np.flatnonzero((lam > 0) | (lam + b * point.constraints > 0))
    if not newton.convex or candidates.size > MANY:
        return None
    d, mu, slope = newton.d, np.zeros(lam.size), at.gradient
    if candidates.size:  # 2
        f, old = point.constraints[candidates], lam[candidates]
        J = np.array([point.gradient(1 + int(i)) for i in candidates])
        Z = np.array([solved(piece(row), rough).d for row in J]).T
        mu[candidates] = new = _dual(J @ Z, f + J @ (d + Z @ old))
        d = d - Z @ (new - old)  # 3
        slope = slope + (np.maximum(new + b * f, 0.0) - old) @ J
    if not norm(d) <= FAR * max(1.0, norm(x)):  # constraints that exclude each other, or nearly
        return None
    merit = AugmentedLagrangian(mu, b)
    value, fall = merit(point.values)[0], min(0.0, float(slope @ d))
    rounding = 100 * problem.facts.rounding * max(1.0, abs(value))
    for s in (1.0, 0.5, 0.25):  # 4
        ahead = problem.at(problem.domain.project(x + s * d))
        rise = merit(ahead.values)[0] - value
        lower = rise <= 1e-4 * s * fall + rounding
        if lower or (s == 1.0 and rise <= 0.1 * at.residual):
            landed = pair_at(problem, ahead, lam + s * (mu - lam))
            if landed.residual <= (WORSE if lower else 0.5) * at.residual:
                return landed
    return None


def _dual(S: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return ``mu >= 0`` with ``S mu >= q``, and equality where ``mu > 0``, or nearly so.

    S is symmetric and positive semi-definite but for what CG left undone: so first the best `mu` of
    its symmetric part, then equality for the constraints that are active there.
    """
    values, vectors = np.linalg.eigh((S + S.T) / 2)
    values = np.sqrt(np.maximum(values, 1e-10 * max(values[-1], 1e-300)))
    mu = nnls((vectors * values).T, (vectors / values).T @ q)[0]
    active = np.flatnonzero(mu)
    exact = np.linalg.lstsq(S[np.ix_(active, active)], q[active], rcond=1e-10)[0]
    if (exact > 0).all():
        mu[active] = exact
    return mu
