"""The jump where the Hessian is at hand as a matrix: its linear systems are solved at once, without CG."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve

from equipoise._problem import Problem
from equipoise.solvers._newton.chord import FAST_JUMP, Chord
from equipoise.solvers._newton.jump import JumpDirection, direction, first_accepted
from equipoise.solvers._newton.pair import Pair
from equipoise.solvers._newton.preconditioner import Preconditioner, cholesky_factor

# A Hessian that is not convex is raised by this many times ``b J'J``, one after the other, until it is: along
# the constraints a large multiple changes no direction. Chosen.
RAISED_BY = (1.0, 10.0, 100.0)


def known_jump(
    problem: Problem, at: Pair, b: float, H: np.ndarray, tol: float
) -> tuple[Pair | None, Preconditioner]:
    """Return where the lines of `jump` lead with the Hessian H (d, d) itself, and H as a preconditioner.

    1. ``H + c J'J`` with the first c = 0, b, 10 b, 100 b for which it is positive definite
    2. the other lines of `jump`
    3. where constraints may become active, but there is no such c, or line 2 gives up: the same with the
       absolute value of H
    """
    known = Preconditioner.exact(H)
    way = _way(problem, at, b, H, known)  # 1
    landed = None if way is None else first_accepted(problem, at, way, b)  # 2
    if landed is None and not known.convex:
        way = _way(problem, at, b, H, known, absolute=True)  # 3
        landed = None if way is None else first_accepted(problem, at, way, b)
    if way is None or landed is None or way.raised or landed.residual > FAST_JUMP * at.residual:
        return landed, known
    return Chord(way.rows, way.J, way.Z, known).follow(problem, landed, tol), known


def _way(
    problem: Problem,
    at: Pair,
    b: float,
    H: np.ndarray,
    known: Preconditioner,
    absolute: bool = False,
) -> JumpDirection | None:
    point = problem.at(at.x)
    rows = np.flatnonzero((at.lam > 0) | (at.lam + b * point.constraints > 0))
    J = point.gradients(1 + rows) if rows.size else np.zeros((0, at.x.size))
    factor, c = (known.factor if known.convex or (absolute and rows.size) else None), 0.0
    if factor is None and rows.size:
        square = J.T @ J
        for times in RAISED_BY:
            c = times * b
            factor = cholesky_factor(H + c * square)
            if factor is not None:
                break
    if factor is None:
        return None
    target = -at.gradient - c * (point.constraints[rows] @ J)
    solved = cho_solve((factor, True), np.column_stack((target, J.T)), check_finite=False)
    return direction(problem, at, b, rows, J, solved[:, 0], solved[:, 1:], not known.convex)
