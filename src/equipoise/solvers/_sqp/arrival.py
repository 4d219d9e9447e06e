"""What is done at a new iterate: the curvature is updated, and the quadratic program solved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from equipoise._array import like, to_numpy
from equipoise._problem import Point, Problem
from equipoise.certificate import Residuals
from equipoise.solvers._parts.linear_rows import linear_rows
from equipoise.solvers._sqp.curvature import first_matrix, probed, updated
from equipoise.solvers._sqp.filter import Filter
from equipoise.solvers._sqp.merit import ScaledMerit, units
from equipoise.solvers._sqp.quadratic_program import QuadraticProgram
from equipoise.solvers._sqp.refinement import Product, refined
from equipoise.solvers._sqp.state import State

# The KKT residual that a refined step may leave in its quadratic program, relative to that of the
# iterate, or the square root of the latter where that is less, which makes steps superlinear. Measured with
# 0.3, 0.5 and 0.8 on the plain problems of `benchmarks.peers`: 0.3 takes the least work in all.
FORCING = 0.3

# A gradient that changes by more than JUMP, in units of that at the start or of 1, within a step of relative
# length SHORT is taken for a sign of a kink. Chosen.
JUMP, SHORT = 0.1, 1e-4

# Numbers of variables from which the first B is made of products, where there are some. Chosen: with fewer,
# BFGS learns as much in the first steps.
PROBED_FROM = 40

Hessian = Callable[[Point, np.ndarray, np.ndarray], Callable | None]
"""A point, weights of the functions and the weighted sum of gradients there, to products with the weighted
sum of Hessians; None where there are none."""


def first_state(
    problem: Problem, x0: Point, hessian: Hessian, lam: np.ndarray, B: np.ndarray | None
) -> State:
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
        fresh=B is None,
    )
    if B is None and x.size >= PROBED_FROM:
        product = _product(state, x0, lam, hessian)
        state = state if product is None else replace(state, B=probed(product, unit), fresh=False)
    return modelled(problem, state, x0, hessian)


def arrive(problem: Problem, state: State, point: Point, hessian: Hessian) -> State:
    """Return the state at a new iterate."""
    J = to_numpy(point.gradients(range(point.values.size)))
    s, change = to_numpy(point.x) - to_numpy(state.x), J - state.J
    B = updated(state.B, s, np.concatenate(([1.0], state.lam)) @ change)
    kinks = state.kinks or _jumps(state, s, change)
    here = replace(state, x=point.x, values=point.values, J=J, B=B, kinks=kinks, fresh=False)
    return modelled(problem, here, point, hessian)


def restarted(problem: Problem, state: State, hessian: Hessian) -> State:
    """Return the state with B as it would be at a start from here."""
    B = first_matrix(to_numpy(state.x), state.J[0], state.unit)
    return modelled(problem, replace(state, B=B, fresh=True), problem.at(state.x), hessian)


def modelled(problem: Problem, state: State, point: Point, hessian: Hessian) -> State:
    """Return the state with the step and the multipliers of the quadratic program at its iterate."""
    program, B = program_at(problem, state), state.B
    answer = program.solve()
    if answer is None:
        answer = program.elastic()
        if answer is None:
            return replace(state, s=np.zeros_like(state.s), stuck=True)
    elif (product := _product(state, point, answer.lam, hessian)) is not None:
        bend = program.H - B
        least = min(residual_at(problem, state, point, answer.lam), state.least)
        enough = min(FORCING, least**0.5) * least
        H, answer = refined(program, answer, lambda v: product(v) + bend @ v, enough, state.fresh)
        B = H - bend
    residual = residual_at(problem, state, point, answer.lam)
    halved = residual <= 0.5 * state.halved
    return replace(
        state,
        s=answer.s,
        lam=answer.lam,
        B=B,
        residual=residual,
        least=min(residual, state.least),
        halved=residual if halved else state.halved,
        slow=0 if halved else state.slow + 1,
        fresh=state.fresh and B is state.B,
    )


def program_at(problem: Problem, state: State) -> QuadraticProgram:
    """Return the quadratic program at the iterate."""
    x, g, J = to_numpy(state.x), state.J[0], state.J[1:]
    bend = problem.domain.bending(x, -(g + state.lam @ J))
    H = state.B + np.diag(np.broadcast_to(bend, x.shape)) if np.any(bend) else state.B
    return QuadraticProgram(H, g, state.values[1:], J, linear_rows(problem.domain, x))


def _product(state: State, point: Point, lam: np.ndarray, hessian: Hessian) -> Product | None:
    """Return products with the Hessian of the Lagrangian, where there are some."""
    weights = np.concatenate(([1.0], lam))
    product = hessian(point, weights, like(weights @ state.J, point.x))
    return None if product is None else lambda v: to_numpy(product(like(v, point.x)))


def residual_at(problem: Problem, state: State, point: Point, lam: np.ndarray) -> float:
    """Return the examiner's residual at the iterate, from the gradients at hand."""
    gradient = state.J[0] + lam @ state.J[1:]
    return Residuals.at(problem, replace(point, x=to_numpy(point.x)), lam, gradient).largest


def _jumps(state: State, s: np.ndarray, change: np.ndarray) -> bool:
    """Whether a gradient has changed as much within a short step as it does where it jumps."""
    x = to_numpy(state.x) / state.unit
    if np.linalg.norm(s / state.unit) > SHORT * max(1.0, float(np.linalg.norm(x))):
        return False
    steep = np.linalg.norm(change * state.unit, axis=1)
    return bool((state.merit.weights * steep > JUMP).any())
