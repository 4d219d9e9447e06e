"""A better model and step by Hessian products, where the problem has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from equipoise._array import Array, like, norm, to_numpy
from equipoise._problem import Point, Problem
from equipoise.solvers._sqp.arrival import program_at
from equipoise.solvers._sqp.curvature import probed, rescaled, updated
from equipoise.solvers._sqp.quadratic_program import Answer, QuadraticProgram
from equipoise.solvers._sqp.state import State

# The KKT residual that a refined step may leave in its quadratic program, relative to that of the
# iterate, or the square root of the latter where that is less, which makes steps superlinear. Measured with
# 0.1 and 0.3 on the plain problems of `benchmarks.peers` with four constraints each: 0.1 takes 11 to 16 %
# less work to a good point, and about as much to the end.
FORCING = 0.1

# Numbers of variables from which the first B is made of products, where there are some. Chosen: with fewer,
# BFGS learns as much in the first steps.
PROBED_FROM = 40

# Products for one step at the most, and where variables are so few that B is not probed. The first is
# measured with 5 and 6 on the same problems: 6 takes 2 % less work to a good point, and 4 % less to the end.
# The second with 3, 4, 5, 6, 8 and 20 on COMPAS: 3 takes the least work to a good point.
MAX_PRODUCTS, MAX_AMONG_FEW = 6, 3

HessianProduct = Callable[[np.ndarray], np.ndarray]

Hessian = Callable[[Point, np.ndarray, Array], Callable]
"""A point, weights of the functions and the weighted sum of gradients there, to products with the weighted
sum of Hessians."""


def with_better_step(problem: Problem, state: State, hessian: Hessian | None) -> State:
    """Return the state with a better step, and a better B, where there are products that pay.

    They are spent right before the step that they are for: an iterate that ends the run needs none.
    """
    if state.elastic or hessian is None:
        return state
    product = _product(problem.at(state.x), state, hessian)
    program, answer = program_at(problem, state), Answer(state.s, state.lam)
    bend = program.H - state.B
    probing = state.fresh and state.s.size >= PROBED_FROM
    if probing:
        program = replace(program, H=probed(product, state.unit) + bend)
        answer = program.solve() or answer
    enough = min(FORCING, state.least**0.5) * state.least
    H, answer = refined(
        program, answer, lambda v: product(v) + bend @ v, enough, state.fresh and not probing
    )
    if H is program.H and not probing:
        return state
    return replace(state, B=H - bend, s=answer.s, lam=answer.lam, fresh=False, exact=True)


def _product(point: Point, state: State, hessian: Hessian) -> HessianProduct:
    """Return products with the Hessian of the Lagrangian at the iterate."""
    weights = np.concatenate(([1.0], state.lam))
    product = hessian(point, weights, like(weights @ state.J, point.x))
    return lambda v: to_numpy(product(like(v, point.x)))


def refined(
    program: QuadraticProgram, answer: Answer, product: HessianProduct, enough: float, fresh: bool
) -> tuple[np.ndarray, Answer]:
    """Solve the quadratic program with the exact Hessian A in place of the model H, by products with A.

    1. p <- s, the step of the program with H
    2. H <- H updated along p; stop where |A p - H p| <= enough for the H before
    3. s' <- the step of the program with H and the gradient g + (A - H) s; p <- s' - s; s <- s'

    What H misses along p is what the KKT conditions of the exact program miss at s. The updates of line
    2 are kept: a later program begins with them.
    """
    H, g, s = program.H, program.g, np.zeros_like(answer.s)
    exact = np.zeros_like(s)  # A s
    for k in range(MAX_PRODUCTS if s.size >= PROBED_FROM else MAX_AMONG_FEW):
        p = answer.s - s
        Ap = product(p)
        missed, curve = Ap - H @ p, float(p @ Ap)
        if not curve > 0:
            break  # the exact program has no minimiser, or is far from H
        if k == 0 and fresh:
            H = rescaled(H, p, Ap)
        H = updated(H, p, Ap)  # 2
        if norm(missed) <= enough:
            break
        t = min(-float((g + exact) @ p) / curve, program.room(s, p))
        s, exact = s + t * p, exact + t * Ap
        better = program.with_model(H, g + exact - H @ s).solve()  # 3
        if better is None:
            break
        answer = better
    return H, answer
