"""The line search of a step, with a second-order correction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from equipoise._array import like
from equipoise._problem import Point, Problem
from equipoise.certificate import Residuals
from equipoise.solvers._parts.try_at import try_at
from equipoise.solvers._sqp.arrival import program_at
from equipoise.solvers._sqp.filter import Filter
from equipoise.solvers._sqp.state import State

# A shorter step is the minimiser of the parabola through what is known, within these shares of the
# longer one; customary values.
SHORTEST, LONGEST = 0.1, 0.5

# Lengths that are tried at the most; and those in a row, each a tenth of the one before, at which functions
# are not finite before the run is ended there. Chosen.
MAX_TRIALS, MAX_NOT_FINITE = 12, 5

# A whole step is accepted whatever the filter says where it lowers the least residual so far to this
# share, which can happen a limited number of times only. Chosen.
MUCH_LESS = 0.5


def search(problem: Problem, state: State) -> tuple[Point, Filter] | None:
    """Return the first point along the step that is accepted, and the filter after it; None if none is."""
    x, merit = state.x, state.merit
    old = theta, phi = merit(state.values)
    slope = float(merit.weights[0] * (state.J[0] @ state.s))
    rounding = 10 * problem.facts.rounding * max(1.0, abs(phi))
    a = 1.0
    for trial in range(MAX_TRIALS):
        to = problem.domain.project(x + like(a * state.s, x))
        ahead = try_at(problem, to) if trial < MAX_NOT_FINITE else problem.at(to)
        if ahead is None:
            a *= SHORTEST
            continue
        new = merit(ahead.values)
        accepted = state.filter.accepts(old, new, slope, a, rounding)
        if not accepted and trial == 0:
            if _much_less(problem, state, ahead):
                return ahead, state.filter
            if new[0] > theta and (bent := _corrected(problem, state, ahead)) is not None:
                accepted = state.filter.accepts(old, merit(bent.values), slope, a, rounding)
                ahead = bent if accepted else ahead
        if accepted:
            objective_step = state.filter.armijo(theta, slope, a)
            return ahead, state.filter if objective_step else state.filter.with_pair(*old)
        if new[0] <= theta:
            a *= _shorter(new[1] - phi, a * slope)
        else:
            a *= LONGEST if new[0] <= state.filter.most else SHORTEST
    return None


def _shorter(rise: float, slope: float) -> float:
    """Return the share of a step at which the parabola through the values has its minimum."""
    bend = rise - slope
    share = -slope / (2 * bend) if bend > 0 and slope < 0 else LONGEST
    return min(max(share, SHORTEST), LONGEST)


def _much_less(problem: Problem, state: State, ahead: Point) -> bool:
    """Whether the residual is much less than it ever was, with the multipliers of the step."""
    goal = MUCH_LESS * state.least
    return ahead.violation <= goal and Residuals.at(problem, ahead, state.lam).largest <= goal


def _corrected(problem: Problem, state: State, ahead: Point) -> Point | None:
    """Return the point after a second-order correction: a step for the constraints as they were ahead."""
    program = program_at(problem, state)
    answer = replace(program, f=ahead.constraints - program.J @ state.s).solve()
    if answer is None or np.linalg.norm(answer.s - state.s) > np.linalg.norm(state.s):
        return None  # no correction, but another step
    return try_at(problem, problem.domain.project(state.x + like(answer.s, state.x)))
