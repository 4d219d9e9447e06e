"""The jump: one Newton step for the point and its multipliers together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np

from equipoise._array import Array, norm
from equipoise._problem import Problem
from equipoise.problems import AugmentedLagrangianMerit
from equipoise.solvers._newton.chord import FAST_JUMP, Chord
from equipoise.solvers._newton.conjugate_gradients import Direction, conjugate_gradients
from equipoise.solvers._newton.dual_multipliers import dual_multipliers
from equipoise.solvers._newton.hessian import Map, hessian, raised
from equipoise.solvers._newton.pair import Pair, pair_at
from equipoise.solvers._newton.preconditioner import Preconditioner
from equipoise.solvers._newton.remembered import Notes
from equipoise.solvers._parts.try_at import try_at

# A jump longer than this many times max(1, |x|) is refused: constraints exclude each other, or nearly.
# Chosen.
MAX_JUMP = 100.0

# With more constraints that may become active no jump is tried: each takes a run of CG. Chosen.
MAX_ACTIVE = 32

# The share of the slope by which the merit must fall (Armijo's rule, customary value).
SUFFICIENT_DECREASE = 1e-4

# Where the merit falls, the residual may grow by the first factor. Where the merit rises, by at most the
# third number times the residual, the second factor is the most that may be left of the residual. Chosen; of
# 2, 3, 5 and 10 for the first, 3 costs no fit of `make peers` more steps, and the larger two led bounds on
# AUCs of 4,000 rows away with multipliers ten times too large.
ALLOWED_GROWTH, MUST_HALVE, ALLOWED_RISE = 3.0, 0.5, 0.1


def jump(
    problem: Problem,
    at: Pair,
    b: float,
    preconditioner: Preconditioner,
    accuracy: float,
    row_accuracy: float = 1.0,
    tol: float = 0.0,
) -> tuple[Pair | None, Preconditioner]:
    """Return where sequential quadratic programming leads, None if it does not lower its merit.

    1. d <- truncated CG for ``H d = -grad L``, with H the Lagrangian's Hessian and F, an estimate of
       it, as preconditioner. At negative curvature: anew with ``H + b J'J`` for H here and below,
       ``grad L + b J'f`` for grad L (the program below is the same where ``f + J w = 0``), and J the
       gradients of line 2; give up where that has negative curvature too. Later jumps raise H at once
    2. Z <- rough CG for ``H Z = J'``, with J the gradients of constraints that may become active;
       mu >= 0 <- multipliers of ``min_w <grad L, w> + <w, H w> / 2  s.t. f_i + <J_i, w> <= 0``, with Z
       for the inverse of H applied to J'
    3. d <- d - Z (mu - lam)
    4. x <- P_X(x + s d), lam <- lam + s (mu - lam) with the first s = 1, 1/2, 1/4 that lowers the
       augmented Lagrangian of mu enough; s = 1 may raise it a little (curved constraints do) if the
       KKT residual falls to a half; give up if there is none
    5. if the residual fell to a tenth, and H was not raised: more steps with the old J and Z, and F
       for H, while they pay

    Parameters
    ----------
    problem : Problem
    at : Pair
    b : float
        The penalty: constraints with ``lam_i > 0`` or ``lam_i + b f_i > 0`` may become active.
    preconditioner : Preconditioner
        F, and what CG has seen of H; returned with what it has seen here.
    accuracy : float
        The residual of line 1, relative to its start; with 1, F is taken for H.
    row_accuracy : float
        The same for line 2.
    tol : float
        The KKT residual that is small enough; line 1 aims for a third of it.
    """
    way, preconditioner = newton(problem, at, b, preconditioner, accuracy, row_accuracy, tol)  # 1-3
    if way is None:
        return None, preconditioner
    landed = first_accepted(problem, at, way, b)  # 4
    known = preconditioner.is_matrix and not way.raised
    if landed is None or landed.residual > FAST_JUMP * at.residual or not known:
        return landed, preconditioner
    chord = Chord(way.rows, way.J, way.Z, preconditioner)  # 5
    return chord.follow(problem, landed, tol), preconditioner


@dataclass(frozen=True)
class JumpDirection:
    """Where a jump leads."""

    d: Array  # (d,)
    mu: np.ndarray  # (m,)
    slope: float  # of the augmented Lagrangian along d
    rows: np.ndarray  # (k,) constraints that may become active
    J: np.ndarray  # (k, d)
    Z: np.ndarray  # (d, k)
    raised: bool  # whether H was raised by b J'J


class Estimate(Protocol):
    """What lines 1 to 3 need of an estimate of the Hessian."""

    def solve(self, v: Array, /) -> Array:
        """Return the inverse of the estimate times `v`."""

    def raised(self, rows: np.ndarray, b: float, /) -> Map:
        """Return the same for the estimate of ``H + b rows' rows``."""

    @property
    def bends(self) -> bool:
        """Whether H had to be raised before."""

    def after(self, notes: Notes, products: int, bends: bool = False, /) -> Self:
        """Return what is known after runs of CG; `bends` where H had to be raised."""


Known = TypeVar("Known", bound=Estimate)


def newton(
    problem: Problem,
    at: Pair,
    b: float,
    preconditioner: Known,
    accuracy: float,
    row_accuracy: float,
    tol: float,
) -> tuple[JumpDirection | None, Known]:
    """Take lines 1 to 3; the evaluation with its large arrays is let go of before the next one."""
    x, lam, point = at.x, at.lam, problem.at(at.x)
    piece = problem.domain.tangent_map(x, -at.gradient)
    bend = problem.domain.bending(x, -at.gradient)
    product = hessian(problem, point, np.concatenate(([1.0], lam)), at.gradient)
    solve: Map = preconditioner.solve
    seen, products = Notes(x.size), [0]
    note: Callable[[Array, Array, float], None] = seen

    def solved(target: Array, accuracy: float, small_enough: float = 0.0) -> Direction:
        found = conjugate_gradients(
            lambda v: piece(product(v) + bend * v),
            target,
            accuracy,
            small_enough,
            precondition=lambda v: piece(solve(v)),
            note=note,
        )
        products.append(found.products)
        if not found.convex:  # H is nearly flat along some directions: they would lead very far
            seen.forget()
        return found

    candidates = np.flatnonzero((lam > 0) | (lam + b * point.constraints > 0))
    raises = preconditioner.bends and accuracy < 1.0 and candidates.size > 0
    if not raises:
        newton = solved(piece(-at.gradient), accuracy, 0.3 * tol)  # 1
        raises = not newton.convex
    if candidates.size > MAX_ACTIVE or (raises and candidates.size == 0):
        return None, preconditioner.after(seen, max(products))
    J, Z = np.zeros((0, x.size)), np.zeros((x.size, 0))
    if candidates.size:
        J = point.gradients(1 + candidates)
    if raises:
        product, solve = raised(product, J, b), preconditioner.raised(J, b)
        note = seen.of_raised(J, b, piece)
        target = piece(-at.gradient - b * (point.constraints[candidates] @ J))
        newton = solved(target, accuracy, 0.3 * tol)
        if not newton.convex:
            return None, preconditioner.after(seen, max(products))
    if candidates.size:  # 2
        Z = np.empty((x.size, candidates.size), order="F")
        for k, row in enumerate(J):
            Z[:, k] = solved(piece(row), row_accuracy).d
    preconditioner = preconditioner.after(seen, max(products), raises)
    return direction(problem, at, b, candidates, J, newton.d, Z, raises), preconditioner  # 3


def direction(
    problem: Problem,
    at: Pair,
    b: float,
    rows: np.ndarray,
    J: np.ndarray,
    d: Array,
    Z: np.ndarray,
    raised: bool,
) -> JumpDirection | None:
    """Return the direction of a jump from the solutions d and Z of its systems; None if it is useless."""
    mu, slope = np.zeros(at.lam.size), at.gradient
    if rows.size:
        f, old = problem.at(at.x).constraints[rows], at.lam[rows]
        mu[rows] = new = dual_multipliers(J, Z, f + J @ (d + Z @ old))
        if not np.isfinite(new).all():
            return None
        d = d - Z @ (new - old)
        slope = slope + (np.maximum(new + b * f, 0.0) - old) @ J
    if not norm(d) <= MAX_JUMP * max(1.0, norm(at.x)):
        return None
    return JumpDirection(d, mu, float(slope @ d), rows, J, Z, raised)


def first_accepted(
    problem: Problem, at: Pair, way: JumpDirection, b: float, growth: float = ALLOWED_GROWTH
) -> Pair | None:
    """Return the first point along the direction that line 4 accepts; the residual may grow by `growth`."""
    merit, values = AugmentedLagrangianMerit(way.mu, b), problem.at(at.x).values
    value, fall = merit(values)[0], min(0.0, way.slope)
    rounding = 100 * problem.facts.rounding * max(1.0, abs(value))
    for s in (1.0, 0.5, 0.25):
        ahead = try_at(problem, problem.domain.project(at.x + s * way.d))
        if ahead is None:
            continue
        rise = merit(ahead.values)[0] - value
        lower = rise <= SUFFICIENT_DECREASE * s * fall + rounding
        if lower or (s == 1.0 and rise <= ALLOWED_RISE * at.residual):
            landed = pair_at(problem, ahead, at.lam + s * (way.mu - at.lam))
            if landed.residual <= (growth if lower else MUST_HALVE) * at.residual:
                return landed
    return None
