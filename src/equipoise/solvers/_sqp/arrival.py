"""What is done at a new iterate: gradients, the update of the curvature, the quadratic program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from equipoise._array import norm, to_numpy
from equipoise._problem import Point, Problem
from equipoise.certificate import Residuals
from equipoise.solvers._parts.linear_rows import linear_rows
from equipoise.solvers._sqp.curvature import faded, first_matrix, shrunk, updated
from equipoise.solvers._sqp.filter import Filter
from equipoise.solvers._sqp.merit import ScaledMerit, units
from equipoise.solvers._sqp.opposites import Opposites
from equipoise.solvers._sqp.quadratic_program import QuadraticProgram
from equipoise.solvers._sqp.state import State

# A gradient that changes by more than JUMP, in units of that at the start or of 1, within a step of relative
# length SHORT is taken for a sign of a kink. Chosen.
JUMP, SHORT = 0.1, 1e-4


def first_state(problem: Problem, x0: Point, lam: np.ndarray, B: np.ndarray | None = None) -> State:
    """Return the state before the first step, from a guess of the multipliers, and of B if there is one."""
    x, J = to_numpy(x0.x), to_numpy(x0.gradients(range(x0.values.size)))
    unit = units(x, J, linear_rows(problem.domain, x))
    merit = ScaledMerit.of(J, unit)
    state = State(
        x=x0.x,
        values=x0.values,
        J=J,
        B=first_matrix(x, J[0], unit) if B is None else B,
        s=np.zeros(x.size),
        lam=lam,
        unit=unit,
        merit=merit,
        filter=Filter(max(1.0, merit(x0.values)[0])),
        opposites=Opposites.among(x0.values, J),
        fresh=B is None,
    )
    return modelled(problem, state)


def arrive(problem: Problem, state: State, point: Point, **changes: Any) -> State:
    """Return the state at a new iterate, with other `changes` to it."""
    opposites = state.opposites.still(point.values)
    J = opposites.gradients(point)
    s, change = to_numpy(point.x) - to_numpy(state.x), J - state.J
    y = np.concatenate(([1.0], state.lam)) @ change
    here = replace(
        state,
        x=point.x,
        values=point.values,
        J=J,
        B=updated(_before(state, s, y), s, y),
        opposites=opposites,
        kinks=state.kinks or _jumps(state, s, change),
        fresh=False,
        exact=False,
        **changes,
    )
    return modelled(problem, here)


def _before(state: State, s: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return B in the size that the step has shown, before the update that makes it right along the step."""
    if state.fresh:
        return shrunk(state.B, s, y)
    return faded(state.B, s, y) if state.exact else state.B


def restarted(problem: Problem, state: State) -> State:
    """Return the state with B as it would be at a start from here, and no gradient taken from another."""
    state = confirmed(problem, state)
    B = first_matrix(to_numpy(state.x), state.J[0], state.unit)
    return modelled(problem, replace(state, B=B, fresh=True))


def confirmed(problem: Problem, state: State) -> State:
    """Return the state with every gradient computed, here and from now on."""
    if state.opposites.first.size == 0:
        return state
    opposites = Opposites.none()
    J = opposites.gradients(problem.at(state.x))
    here = replace(state, opposites=opposites)
    return (
        here if np.array_equal(J, state.J) else modelled(problem, replace(here, J=J, stuck=False))
    )


def modelled(problem: Problem, state: State) -> State:
    """Return the state with the step and the multipliers of the quadratic program at its iterate."""
    program = program_at(problem, state)
    answer = program.solve()
    elastic = answer is None
    if answer is None:
        answer = program.elastic()
        if answer is None:
            return replace(state, s=np.zeros_like(state.s), stuck=True)
    residual = _residual(problem, state, answer.lam)
    halved = residual <= 0.5 * state.halved
    return replace(
        state,
        s=answer.s,
        lam=answer.lam,
        residual=residual,
        least=min(residual, state.least),
        halved=residual if halved else state.halved,
        slow=0 if halved else state.slow + 1,
        elastic=elastic,
    )


def program_at(problem: Problem, state: State) -> QuadraticProgram:
    """Return the quadratic program at the iterate."""
    x, g, J = to_numpy(state.x), state.J[0], state.J[1:]
    bend = problem.domain.bending(x, -(g + state.lam @ J))
    H = state.B + np.diag(np.broadcast_to(bend, x.shape)) if np.any(bend) else state.B
    return QuadraticProgram(H, g, state.values[1:], J, linear_rows(problem.domain, x))


def _residual(problem: Problem, state: State, lam: np.ndarray) -> float:
    """Return the examiner's residual at the iterate, from the gradients at hand."""
    gradient = state.J[0] + lam @ state.J[1:]
    point = Point(to_numpy(state.x), state.values, lambda _: gradient)
    return Residuals.at(problem, point, lam, gradient).largest


def _jumps(state: State, s: np.ndarray, change: np.ndarray) -> bool:
    """Whether a gradient has changed as much within a short step as it does where it jumps."""
    x = to_numpy(state.x) / state.unit
    if norm(s / state.unit) > SHORT * max(1.0, norm(x)):
        return False
    steep = np.linalg.norm(change * state.unit, axis=1)
    return bool((state.merit.weights * steep > JUMP).any())
