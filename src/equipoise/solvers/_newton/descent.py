"""One step down the augmented Lagrangian: Newton's direction, and a line search."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equipoise._array import TINY, Array, dot, norm
from equipoise._problem import Point, Problem
from equipoise.problems import AugmentedLagrangianMerit, Merit
from equipoise.solvers._newton.conjugate_gradients import conjugate_gradients
from equipoise.solvers._newton.hessian import hessian, raised
from equipoise.solvers._newton.pair import pair_at
from equipoise.solvers._newton.remembered import Notes
from equipoise.solvers._newton.state import State
from equipoise.solvers._parts.try_at import try_at

# Steps after which the multipliers are updated although the gradient is not small. Chosen.
PATIENCE = 100

# Where the multipliers sum up to more than a thousand, the gradient at which they are updated grows with
# them, as its rounding errors do. Chosen.
PER_MULTIPLIER = 1e-3

# The residual CG reaches relative to its start, or the square root of the gradient where that is
# less, which makes the steps superlinear; with and without a preconditioner. Chosen.
FORCING, FORCING_WITHOUT_PRECONDITIONER = 0.1, 0.5

# The penalty grows unless the violation fell to this share (Bertsekas 1982, customary value); an
# update counts as stuck where it fell to more than `NO_PROGRESS`. The penalty ends at `MAX_PENALTY`,
# where rounding errors of the constraints swamp the objective. Chosen.
GOOD_PROGRESS, NO_PROGRESS, MAX_PENALTY = 0.25, 0.9, 1e10

# Armijo's rule, customary value; halvings of the step at the most.
SUFFICIENT_DECREASE, MAX_HALVINGS = 1e-4, 30

# The next step may be ten times as long as one that succeeded at once, four times one that was cut.
# Chosen.
LONGER, LONGER_AFTER_CUT = 10.0, 4.0


def descend(problem: Problem, state: State, growth: float, tol: float) -> State:
    """Take lines 2 to 5 of `AugmentedNewton`.

    Parameters
    ----------
    problem, state : as in the solver
    growth, tol : float
        The solver's.
    """
    state, way = _newton(problem, state, growth, tol)  # 2-4
    merit, x = AugmentedLagrangianMerit(state.lam, state.b), state.pair.x
    new, radius = _search(problem, way, way.d, merit, state.radius)  # 5
    if new is x:
        new, radius = _search(problem, way, way.downhill, merit, problem.domain.diameter)
    ahead = problem.at(new)
    pair = pair_at(problem, ahead, merit(ahead.values)[1][1:])
    stalled = 0 if new is not x else state.stalled + 1
    return replace(state, pair=pair, radius=radius, stalled=stalled)


@dataclass(frozen=True)
class _DescentDirection:
    """Where to search for a lower augmented Lagrangian."""

    x: Array  # (d,)
    value: float  # of the augmented Lagrangian
    g: Array  # (d,) its gradient
    d: Array  # (d,) Newton's direction
    downhill: Array  # (d,) the projected negative gradient


def _newton(
    problem: Problem, state: State, growth: float, tol: float
) -> tuple[State, _DescentDirection]:
    """Take lines 2 to 4; the evaluation with its large arrays is let go of before the next one."""
    point, k = problem.at(state.pair.x), state.k + 1
    x = point.x
    slopes = AugmentedLagrangianMerit(state.lam, state.b)(point.values)[1]
    known = np.array_equal(slopes[1:], state.pair.lam)
    g = state.pair.gradient if known else point.vjp(slopes)  # 2
    piece = problem.domain.tangent_map(x, -g)
    enough = state.accuracy * max(1.0, PER_MULTIPLIER * slopes[1:].sum())
    if state.lam.size and (norm(piece(-g)) <= enough or k > PATIENCE):  # 3
        state, k = _updated(point, state, slopes[1:], growth, tol), 0
        slopes = AugmentedLagrangianMerit(state.lam, state.b)(point.values)[1]
        g = point.vjp(slopes)
        piece = problem.domain.tangent_map(x, -g)
    merit, b = AugmentedLagrangianMerit(state.lam, state.b), state.b
    rows = point.gradients(1 + np.flatnonzero(slopes[1:] > 0))
    product, bend = raised(hessian(problem, point, slopes), rows, b), problem.domain.bending(x, -g)
    estimate = state.preconditioner
    inverse = None if estimate is None else estimate.raised(rows, b)
    seen = None if estimate is None else Notes(x.size)
    forcing = FORCING_WITHOUT_PRECONDITIONER if inverse is None else FORCING
    target = piece(-g)
    found = conjugate_gradients(  # 4
        lambda v: piece(product(v) + bend * v),
        target,
        min(forcing, norm(target) ** 0.5),
        0.1 * tol,
        precondition=None if inverse is None else lambda v: piece(inverse(v)),
        note=None if seen is None else seen.of_raised(rows, b, piece),
    )
    if estimate is not None and seen is not None:
        if not found.convex:
            seen.forget()
        # made anew where the step leads, which may be far
        estimate = replace(estimate.after(seen, found.products), good=False)
    way = _DescentDirection(x, merit(point.values)[0], g, found.d, target)
    return replace(state, k=k, preconditioner=estimate), way


def _updated(point: Point, state: State, lam: np.ndarray, growth: float, tol: float) -> State:
    """Take new multipliers, and a larger penalty if the violation fell too little."""
    violation = state.violation
    now = float(np.abs(np.minimum(-point.constraints, lam / state.b)).max())
    fell = now <= GOOD_PROGRESS * violation
    return replace(
        state,
        lam=lam,
        b=state.b if fell else min(growth * state.b, MAX_PENALTY),
        accuracy=max(0.1 * state.accuracy, 0.1 * tol),
        violation=min(violation, now),
        stuck=0 if now <= max(NO_PROGRESS * violation, tol) else state.stuck + 1,
    )


def _search(
    problem: Problem, way: _DescentDirection, d: Array, merit: Merit, radius: float
) -> tuple[Array, float]:
    """Search along the projection arc by Armijo's rule; the first step is at most `radius` long.

    Returns `x` itself where nothing is gained, and the radius for the next step.
    """
    x, value, g = way.x, way.value, way.g
    rounding = 100 * problem.facts.rounding * max(1.0, abs(value))
    first = s = min(1.0, radius / max(norm(d), TINY))
    finite = False
    for _ in range(MAX_HALVINGS):
        new = problem.domain.project(x + s * d)
        ahead = try_at(problem, new)
        finite = finite or ahead is not None
        reached = np.inf if ahead is None else merit(ahead.values)[0]
        if reached <= value + SUFFICIENT_DECREASE * min(dot(g, new - x), 0.0) + rounding:
            length = norm(new - x)
            if length <= 1e-15 * max(1.0, norm(x)):  # no step at all, but for rounding
                break
            return new, max(radius, LONGER * length) if s == first else LONGER_AFTER_CUT * length
        s *= 0.5
    if not finite:
        problem.at(new)  # raises, and says which function is not finite
    return x, radius
