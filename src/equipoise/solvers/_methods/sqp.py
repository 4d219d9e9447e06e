"""Sequential quadratic programming: the method for smooth problems that are not large."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Problem
from equipoise._status import Status
from equipoise.solvers._newton.hessian import hessian
from equipoise.solvers._parts.warm_start import (
    Guess,
    Start,
    check_start,
    known_multipliers,
    start_from,
)
from equipoise.solvers._solver import DETERMINISTIC, SMOOTH, Claim, Finished, Guarantee, Solver
from equipoise.solvers._sqp.arrival import arrive, confirmed, first_state, restarted
from equipoise.solvers._sqp.refinement import Hessian, with_better_step
from equipoise.solvers._sqp.restoration import lower_violation
from equipoise.solvers._sqp.search import search
from equipoise.solvers._sqp.state import State

__all__ = ["SQP"]

# Restoration ends where the filter admits a point with at most this share of the violation at which it
# began; value of Waechter & Biegler 2006.
RESTORED = 0.9

# Steps without a halved residual, beyond two for each variable, after which the verdict is
# `Status.STALLED`. Chosen: of the Hock-Schittkowski problems that are solved, one takes three quarters of
# as many (HS117), all others less than half.
PATIENCE = 50

# Numbers of variables from which products with the Hessian are formed by differences where a problem
# has none: each costs an evaluation, and BFGS needs about as many steps as there are variables. Chosen.
DIFFERENCES_FROM = 40


@dataclass(frozen=True, kw_only=True)
class SQP(Solver[State]):
    r"""Solve a quadratic program for the step, with a Hessian learnt from gradients.

    With ``h`` the sum of violations and B a positive definite matrix, each in units that the start shows:

    1. where there are Hessian products: B and s are corrected along the directions of s, until s solves
       line 5 with the exact Hessian of L well enough
    2. x <- P_X(x + a s) with the first a = 1, shorter, ... that the filter accepts: h or f_0 falls enough,
       and no earlier pair of them is better in both. Where the whole step raises h, a second-order
       correction is tried; where it halves the least KKT residual so far, it is accepted at once
    3. if there is no such a: B <- a diagonal. If B is one: restoration, that is, damped Gauss-Newton
       steps for ``sum_i [f_i]_+^2``, one a step, until the filter admits a point with less h
    4. B <- BFGS with the change of ``grad L(., lam)`` along the step, damped such that B stays positive
       definite; before it, a B that is too large along the step is made smaller, if this is the first
       update, or line 1 has made B exact there
    5. s, lam <- minimiser and multipliers of ``grad f_0's + s'Bs/2  s.t.  f_i + grad f_i's <= 0``, x + s
       in X; where there is no such s, rows may be exceeded at a price

    Bounds and linear sets are met exactly; points are projected on curved ones, whose bending is added to
    B. Two constraints with opposite gradients are one row of line 5 with two bounds; as long as their sum
    stays the same, one gradient is computed, until the end, where all are. A step costs one evaluation as
    a rule.

    Output: the iterate, and the multipliers of line 5 there. The method stops by itself where their KKT
    residual is at most `tol`, where restoration finds no descent, or where the residual has not been halved
    for too long.

    Guarantee: limit points are KKT points, or stationary for the violation, if B and its inverse stay
    bounded (Waechter & Biegler 2006). Locally superlinear (Powell 1978).

    Parameters
    ----------
    tol : float
        The KKT residual at which the method stops by itself.
    multipliers : array of shape (m,), optional
        Where to start; 0 by default. `warm_started` takes them, and B, from an earlier run.

    References
    ----------
    Powell 1978; Al-Baali 1998; Fletcher & Leyffer 2002; Waechter & Biegler 2006.
    """

    name: ClassVar[str] = "sqp"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="smooth objective and constraints, convex or not",
        quantity="KKT residual, or stationarity of the squared violation",
        rate="locally superlinear",
        reference="Powell 1978; Waechter & Biegler 2006",
    )
    needs = (SMOOTH, DETERMINISTIC)
    claim: ClassVar[Claim] = Claim(("active", "bilinear", "convex"), residual=1e-7, steps=100)
    exact = True

    tol: float = 1e-9
    multipliers: Start | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _check.positive("SQP", "tol", self.tol)
        check_start("SQP", self.multipliers)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        known = known_multipliers("SQP", problem, self.multipliers)
        lam = np.zeros(problem.n_constraints) if known is None else known
        B = None if known is None else _remembered(self.multipliers, problem.dim)
        return first_state(problem, problem.at(x0), lam, B)

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        new = self._moved(problem, state)
        return new if self.verdict(new) is None else confirmed(problem, new)

    def _moved(self, problem: Problem, state: State) -> State:
        if not state.restoring:
            state = with_better_step(problem, state, _products(problem, state.x))  # 1
            found = search(problem, state)  # 2
            if found is not None:
                point, pairs = found
                return arrive(problem, state, point, filter=pairs)  # 4, 5
            if not state.fresh:
                return restarted(problem, state)  # 3
            h, f = state.merit(state.values)
            if h == 0.0:
                return replace(state, stuck=True)
            state = replace(state, restoring=h, filter=state.filter.with_pair(h, f))
        lowered = lower_violation(problem, state)
        if lowered is None:
            return replace(state, stuck=True)
        point, damping = lowered
        h, f = state.merit(point.values)
        restored = h <= RESTORED * state.restoring and state.filter.admits(h, f)
        left = 0.0 if restored else state.restoring
        return arrive(problem, state, point, damping=damping, restoring=left)

    def output(self, state: State) -> tuple[Array, np.ndarray]:
        """Return the iterate and its multipliers."""
        return state.x, state.lam

    def verdict(self, state: State) -> Status | None:
        """Stop at the tolerance, or where nothing is gained any more."""
        if state.residual <= self.tol:
            return Status.CONVERGED
        slow = state.slow > PATIENCE + 2 * state.s.size
        return Status.STALLED if state.stuck or slow else None

    def looks_smooth(self, state: State) -> bool:
        """Whether no gradient has jumped."""
        return not state.kinks

    def warm_started(self, result: Finished) -> Self:
        """Return this method, with the multipliers and B of `result` to start from."""
        known = result.state.B if isinstance(result.state, State) else None
        return start_from(self, result, memory=known)


def _remembered(start: Start | None, dim: int) -> np.ndarray | None:
    """Return the matrix of an earlier run, if that had as many variables."""
    known = start.memory if isinstance(start, Guess) else None
    return known if known is not None and len(known) == dim else None


def _products(problem: Problem, x: Array) -> Hessian | None:
    """Return what gives products with the Hessian of a Lagrangian, where they pay."""
    if problem.dim < DIFFERENCES_FROM and problem.at(x).hvp is None:
        return None
    return partial(hessian, problem)
