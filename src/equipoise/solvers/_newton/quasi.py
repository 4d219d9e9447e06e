"""Jumps with curvature learned from the steps before: no product with a Hessian is taken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from equipoise._array import Array
from equipoise._problem import Problem
from equipoise.solvers._newton.hessian import hessian
from equipoise.solvers._newton.jump import first_accepted, newton
from equipoise.solvers._newton.limited_memory import LimitedMemory
from equipoise.solvers._newton.pair import Pair
from equipoise.solvers._newton.state import State

# Jumps in a row that did not halve the least residual, and the steps that are then taken without them. Chosen
# on thirteen generated problems with 400 to 10,000 variables: with less patience, or much
# more, narrow curved valleys take more evaluations, or more steps.
PATIENCE, STEPS_WITHOUT = 40, 20

# Where the merit falls, the residual may grow by this factor: more than after a jump with the Hessian, as
# jumps are where this estimate learns. Of 3 and 10 the second takes fewer evaluations on sparse rows.
LEARNING_GROWTH = 10.0


def quasi_jump(problem: Problem, state: State, size: int) -> tuple[Pair | None, State]:
    """Return where a jump with the learned estimate leads, None if nowhere, and what is known then.

    1. B <- the estimate; at first from one difference of gradients of the Lagrangian along its slope
    2. (x+, lam+) <- a `jump` from (x, lam) with B for the Hessian and no CG: one evaluation, and
       the gradients of the constraints that may become active
    3. B <- B after the step ``x+ - x``, along which ``grad L(., lam+)`` has changed

    Parameters
    ----------
    problem : Problem
    state : State
    size : int
        Steps to remember.
    """
    at, known = state.pair, state.learned
    if known is None:
        known = _first(problem, at, size)  # 1
    state = replace(state, learned=known)
    if state.slow % (PATIENCE + STEPS_WITHOUT) >= PATIENCE:
        return None, state
    way = newton(problem, at, state.b, known, 1.0, 1.0, 0.0)[0]  # 2
    landed = None if way is None else first_accepted(problem, at, way, state.b, LEARNING_GROWTH)
    if way is None or landed is None:
        return None, replace(state, slow=PATIENCE)
    before = at.gradient + (landed.lam - at.lam)[way.rows] @ way.J
    known = known.learned(*_change(problem, landed, landed.x - at.x, landed.gradient - before))  # 3
    return landed, replace(state, learned=known)


def _first(problem: Problem, at: Pair, size: int) -> LimitedMemory:
    """Return what one difference of gradients tells."""
    d = problem.domain.tangent(at.x, -at.gradient)
    product = hessian(problem, problem.at(at.x), np.concatenate(([1.0], at.lam)), at.gradient)
    return LimitedMemory(size).learned(*_change(problem, at, d, product(d)))


def _change(problem: Problem, at: Pair, s: Array, y: Array) -> tuple[Array, Array]:
    """Return step and change along the domain's boundary, whose bending counts as curvature."""
    piece = problem.domain.tangent_map(at.x, -at.gradient)
    s = piece(s)
    return s, piece(y) + problem.domain.bending(at.x, -at.gradient) * s
