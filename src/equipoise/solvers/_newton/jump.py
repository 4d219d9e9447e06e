"""The jump: one Newton step for the point and its multipliers together."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from equipoise._array import Array, norm
from equipoise.problem import Problem
from equipoise.problems.merit import AugmentedLagrangian
from equipoise.solvers._newton.chord import Chord, dual
from equipoise.solvers._newton.conjugate_gradients import Direction, Seen, conjugate_gradients
from equipoise.solvers._newton.pair import Pair, pair_at
from equipoise.solvers._newton.preconditioner import Learned, hessian
from equipoise.solvers._parts.try_at import attempt

FAR = 100.0  # how far a jump may lead, relative to the point
WORSE = 10.0  # how much the residual may grow, where the merit falls
FAST = 0.1  # what a jump may leave of the residual for chord steps to follow
SEEN, NUMBERS = 12, 40_000  # directions of CG that are remembered, and their numbers: at the most
MANY = 32  # constraints that may be active, beyond which no jump is tried


def jump(
    problem: Problem,
    at: Pair,
    b: float,
    known: Learned,
    accuracy: float,
    rough: float = 1.0,
    tol: float = 0.0,
) -> tuple[Pair | None, Learned]:
    """Return where sequential quadratic programming leads, None if it does not lower its merit.

    1. d <- truncated CG for ``H d = -grad L``, with H the Lagrangian's Hessian and F, an estimate of
       it, as preconditioner; give up at negative curvature
    2. Z <- rough CG for ``H Z = J'``, with J the gradients of constraints that may become active;
       mu >= 0 <- multipliers of ``min_w <grad L, w> + <w, H w> / 2  s.t. f_i + <J_i, w> <= 0``, with Z
       for the inverse of H applied to J'
    3. d <- d - Z (mu - lam)
    4. x <- P_X(x + s d), lam <- lam + s (mu - lam) with the first s = 1, 1/2, 1/4 that lowers the
       augmented Lagrangian of mu enough; s = 1 may raise it a little (curved constraints do) if the
       KKT residual falls to a half; give up if there is none
    5. if the residual fell to a tenth: more steps with the old J and Z, and F for H, while they pay

    Parameters
    ----------
    problem : Problem
    at : Pair
    b : float
        The penalty: constraints with ``lam_i > 0`` or ``lam_i + b f_i > 0`` may become active.
    known : Learned
        F, and what CG has seen of H; returned with what it has seen here.
    accuracy : float
        The residual of line 1, relative to its start; with 1, F is taken for H.
    rough : float
        The same for line 2.
    tol : float
        The KKT residual that is small enough; line 1 aims for a third of it.
    """
    way, known = _newton(problem, at, b, known, accuracy, rough, tol)  # 1-3
    if way is None:
        return None, known
    landed = _search(problem, at, way.d, way.mu, b, way.slope)  # 4
    fast = landed is not None and landed.residual <= FAST * at.residual
    if landed is not None and fast and known.factor.ndim == 2:  # 5
        landed = Chord(way.rows, way.J, way.Z, known).follow(problem, landed, tol)
    return landed, known


@dataclass(frozen=True)
class _Way:
    """Where a jump leads."""

    d: Array  # (d,)
    mu: np.ndarray  # (m,)
    slope: float  # of the augmented Lagrangian along d
    rows: np.ndarray  # (k,) constraints that may become active
    J: np.ndarray  # (k, d)
    Z: np.ndarray  # (d, k)


def _newton(
    problem: Problem,
    at: Pair,
    b: float,
    known: Learned,
    accuracy: float,
    rough: float,
    tol: float,
) -> tuple[_Way | None, Learned]:
    """Take lines 1 to 3; the evaluation with its large arrays is let go of before the next one."""
    x, lam, point = at.x, at.lam, problem.at(at.x)
    piece = problem.domain.tangent_map(x, -at.gradient)
    bend = problem.domain.bending(x, -at.gradient)
    product = hessian(problem, point, np.concatenate(([1.0], lam)))
    seen: Seen = deque(maxlen=min(SEEN, max(2, NUMBERS // x.size)))
    products = [0]

    def solved(target: Array, accuracy: float, floor: float = 0.0) -> Direction:
        found = conjugate_gradients(
            lambda v: piece(product(v) + bend * v),
            target,
            accuracy,
            floor,
            precondition=lambda v: piece(known.solve(v)),
            seen=seen,
        )
        products.append(found.products)
        return found

    newton = solved(piece(-at.gradient), accuracy, 0.3 * tol)  # 1
    candidates = np.flatnonzero((lam > 0) | (lam + b * point.constraints > 0))
    if not newton.convex or candidates.size > MANY:
        return None, known.after(seen, max(products))
    d, mu, slope = newton.d, np.zeros(lam.size), at.gradient
    J, Z = np.zeros((0, x.size)), np.zeros((x.size, 0))
    if candidates.size:  # 2
        f, old = point.constraints[candidates], lam[candidates]
        J = point.gradients(1 + candidates)
        Z = np.empty((x.size, candidates.size), order="F")
        for k, row in enumerate(J):
            Z[:, k] = solved(piece(row), rough).d
        mu[candidates] = new = dual(J @ Z, f + J @ (d + Z @ old))
        if not np.isfinite(new).all():
            return None, known.after(seen, max(products))
        d = d - Z @ (new - old)  # 3
        slope = slope + (np.maximum(new + b * f, 0.0) - old) @ J
    known = known.after(seen, max(products))
    if not norm(d) <= FAR * max(1.0, norm(x)):  # constraints that exclude each other, or nearly
        return None, known
    return _Way(d, mu, float(slope @ d), candidates, J, Z), known


def _search(
    problem: Problem, at: Pair, d: Array, mu: np.ndarray, b: float, slope: float
) -> Pair | None:
    """Return the first point along `d` that line 4 accepts."""
    merit, values = AugmentedLagrangian(mu, b), problem.at(at.x).values
    value, fall = merit(values)[0], min(0.0, slope)
    rounding = 100 * problem.facts.rounding * max(1.0, abs(value))
    for s in (1.0, 0.5, 0.25):
        ahead = attempt(problem, problem.domain.project(at.x + s * d))
        if ahead is None:
            continue
        rise = merit(ahead.values)[0] - value
        lower = rise <= 1e-4 * s * fall + rounding
        if lower or (s == 1.0 and rise <= 0.1 * at.residual):
            landed = pair_at(problem, ahead, at.lam + s * (mu - at.lam))
            if landed.residual <= (WORSE if lower else 0.5) * at.residual:
                return landed
    return None
