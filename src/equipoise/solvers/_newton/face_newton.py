"""Newton's method on the face that a linear program found (SLP-EQP)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from equipoise._array import like, norm, to_numpy
from equipoise._problem import Point, Problem
from equipoise.solvers._newton.conjugate_gradients import conjugate_gradients
from equipoise.solvers._newton.hessian import hessian

# The lengths of the Newton step that are tried: far away the whole one may be too long. Chosen.
LENGTHS = (1.0, 0.25, 0.0625)

# A multiplier within this share of 0 or of the penalty p counts as being there. Derived: ten times the
# tolerance of the linear program.
AT_BOUND = 1e-9

# Gradients count as dependent where a singular value is below this share of the largest. Chosen, far above
# rounding errors.
RELATIVE_RANK = 1e-10

# A residual that rounding errors may leave. Chosen.
ROUNDING = 1e-14

# The residual CG reaches relative to its start, or the start itself where that is less. Chosen.
FORCING = 1e-3


def newton_points(
    problem: Problem,
    point: Point,
    J: np.ndarray,
    step: tuple[np.ndarray, np.ndarray],
    p: float,
    products: int,
) -> Iterator[Point]:
    r"""Yield points beyond the step `s` of a linear program, on the face it lies on.

    1. W <- the constraints with 0 < lam_i < p, which s makes active to first order;
       T <- the linear piece of the domain's tangent projection at x + s
    2. z <- truncated CG for min grad L'z + (s + z)'H(s + z)/2 over T z = z, grad f_i'z = 0 (i in W),
       L and H the Lagrangian and its Hessian at (x, lam)
    3. for a = 1, 1/4, 1/16: y <- P_X(x + s + a z); yield P_X(y - J_W^+ f_W(y)), a second-order
       correction: along a bent constraint y has left it

    Parameters
    ----------
    problem : Problem
    point : Point
        The functions at x.
    J : ndarray of shape (m + 1, d)
        All gradients there.
    step : tuple of ndarray
        s of shape (d,) and the multipliers lam of shape (m,) of the linear program.
    p : float
        The penalty.
    products : int
        Hessian products at the most.

    References
    ----------
    Fletcher & Sainz de la Maza 1989; Byrd, Gould, Nocedal & Waltz 2004.
    """
    (s, lam), x, X = step, to_numpy(point.x), problem.domain
    weights = np.concatenate(([1.0], lam))
    grad = weights @ J
    W = np.flatnonzero((lam > AT_BOUND * p) & (lam < (1 - AT_BOUND) * p))  # 1
    T = X.tangent_map(X.project(x + s), -grad)
    active = T(J[1 + W])
    inverse = np.linalg.pinv(active, rcond=RELATIVE_RANK)
    curve, bend = hessian(problem, point, weights), X.bending(x, -grad)

    def along(v: np.ndarray) -> np.ndarray:
        v = T(v)
        return v - inverse @ (active @ v)

    def H(v: np.ndarray) -> np.ndarray:
        return to_numpy(curve(like(v, point.x))) + bend * v

    target = along(-(grad + H(s)))
    z = conjugate_gradients(  # 2
        lambda v: along(H(v)),
        target,
        min(FORCING, norm(target)),
        small_enough=ROUNDING,
        max_products=products,
    ).d
    for a in LENGTHS:  # 3
        y = problem.at(like(X.project(x + s + a * z), point.x))
        correction = -inverse @ y.constraints[W]
        yield problem.at(X.project(y.x + like(correction, y.x))) if W.size else y
