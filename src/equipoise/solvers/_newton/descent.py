"""One step down the augmented Lagrangian: Newton's direction, and a line search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from equipoise._array import Array, dot, norm
from equipoise.problem import Point, Problem
from equipoise.problems.merit import AugmentedLagrangian, Merit
from equipoise.solvers._newton.conjugate_gradients import Map, conjugate_gradients
from equipoise.solvers._newton.pair import pair_at
from equipoise.solvers._newton.preconditioner import hessian, raised, raised_inverse
from equipoise.solvers._parts.try_at import attempt

if TYPE_CHECKING:
    from equipoise.solvers._methods.augmented_newton import State

PATIENCE = 100  # steps after which the multipliers are updated anyway


def descend(problem: Problem, state: State, solve: Map | None, growth: float, tol: float) -> State:
    """Take lines 2 to 5 of `AugmentedNewton`.

    Parameters
    ----------
    problem, state : as in the solver
    solve : callable, optional
        ``v -> F^-1 v`` with an estimate F of the Lagrangian's Hessian.
    growth, tol : float
        The solver's.
    """
    state, way = _newton(problem, state, solve, growth, tol)  # 2-4
    merit, x = AugmentedLagrangian(state.lam, state.b), state.pair.x
    new, radius = _search(problem, way, way.d, merit, state.radius)  # 5
    if new is x:
        new, radius = _search(problem, way, way.downhill, merit, problem.domain.diameter)
    ahead = problem.at(new)
    pair = pair_at(problem, ahead, merit(ahead.values)[1][1:])
    stalled = 0 if new is not x else state.stalled + 1
    return replace(state, pair=pair, radius=radius, stalled=stalled)


@dataclass(frozen=True)
class _Way:
    """Where to search for a lower augmented Lagrangian."""

    x: Array  # (d,)
    value: float  # of the augmented Lagrangian
    g: Array  # (d,) its gradient
    d: Array  # (d,) Newton's direction
    downhill: Array  # (d,) the projected negative gradient


def _newton(
    problem: Problem, state: State, solve: Map | None, growth: float, tol: float
) -> tuple[State, _Way]:
    """Take lines 2 to 4; the evaluation with its large arrays is let go of before the next one."""
    point, k = problem.at(state.pair.x), state.k + 1
    x = point.x
    slopes = AugmentedLagrangian(state.lam, state.b)(point.values)[1]
    known = np.array_equal(slopes[1:], state.pair.lam)
    g = state.pair.gradient if known else point.vjp(slopes)  # 2
    piece = problem.domain.tangent_map(x, -g)
    enough = state.accuracy * max(1.0, 1e-3 * slopes[1:].sum())
    if state.lam.size and (norm(piece(-g)) <= enough or k > PATIENCE):  # 3
        state, k = _updated(point, state, slopes[1:], growth, tol), 0
        slopes = AugmentedLagrangian(state.lam, state.b)(point.values)[1]
        g = point.vjp(slopes)
        piece = problem.domain.tangent_map(x, -g)
    merit, b = AugmentedLagrangian(state.lam, state.b), state.b
    rows = point.gradients(1 + np.flatnonzero(slopes[1:] > 0))
    product, bend = raised(hessian(problem, point, slopes), rows, b), problem.domain.bending(x, -g)
    near = None if solve is None else raised_inverse(solve, rows, b)
    target = piece(-g)
    found = conjugate_gradients(  # 4
        lambda v: piece(product(v) + bend * v),
        target,
        min(0.5 if near is None else 0.1, norm(target) ** 0.5),
        0.1 * tol,
        precondition=None if near is None else lambda v: piece(near(v)),
    )
    return replace(state, k=k), _Way(x, merit(point.values)[0], g, found.d, target)


def _updated(point: Point, state: State, lam: np.ndarray, growth: float, tol: float) -> State:
    """Take new multipliers, and a larger penalty if the violation fell too little."""
    violation = state.violation
    infeasible = float(np.abs(np.minimum(-point.constraints, lam / state.b)).max())
    return replace(
        state,
        lam=lam,
        b=state.b if infeasible <= 0.25 * violation else min(growth * state.b, 1e10),
        accuracy=max(0.1 * state.accuracy, 0.1 * tol),
        violation=min(violation, infeasible),
        stuck=0 if infeasible <= max(0.9 * violation, tol) else state.stuck + 1,
    )


def _search(
    problem: Problem, way: _Way, d: Array, merit: Merit, radius: float
) -> tuple[Array, float]:
    """Armijo's rule along the projection arc; the first step is at most `radius` long.

    Returns `x` itself where nothing is gained, and the radius for the next step.
    """
    x, value, g = way.x, way.value, way.g
    rounding = 100 * problem.facts.rounding * max(1.0, abs(value))
    first = s = min(1.0, radius / max(norm(d), 1e-300))
    finite = False
    for _ in range(30):
        new = problem.domain.project(x + s * d)
        ahead = attempt(problem, new)
        finite = finite or ahead is not None
        reached = np.inf if ahead is None else merit(ahead.values)[0]
        if reached <= value + 1e-4 * min(dot(g, new - x), 0.0) + rounding:
            length = norm(new - x)
            if length <= 1e-15 * max(1.0, norm(x)):
                break
            return new, max(radius, 10 * length) if s == first else 4 * length
        s *= 0.5
    if not finite:
        problem.at(new)  # raises, and says which function
    return x, radius
