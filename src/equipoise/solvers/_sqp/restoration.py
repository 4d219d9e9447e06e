"""Restoration: steps that lower the violation alone, until the filter admits a point."""

from __future__ import annotations

import numpy as np

from equipoise._array import TINY, like, to_numpy
from equipoise._problem import Point, Problem
from equipoise.solvers._parts.linear_rows import linear_rows
from equipoise.solvers._parts.try_at import try_at
from equipoise.solvers._sqp.quadratic_program import QuadraticProgram
from equipoise.solvers._sqp.state import State

# How many dampings are tried; the factor from each to the next; and the factor after a success. Chosen.
TRIES, STRONGER, WEAKER = 8, 10.0, 0.1

# The least damping, and the least curvature of a variable relative to the others', so that the matrix is not
# singular. Chosen.
LEAST_DAMPING = 1e-8

# The share of what the model promises that the violation must fall by; customary value.
SUFFICIENT_DECREASE = 1e-4

# A promise below this share of h is none: the point is nearly stationary for the violation. Chosen.
LEAST_PROMISE = 1e-4


def lower_violation(problem: Problem, state: State) -> tuple[Point, float] | None:
    """Return a point with less ``h = sum_i (w_i [f_i]_+)^2 / 2``, and the damping for the next step.

    The step is a Gauss-Newton step with damping; None where the model promises nothing, or no damping
    that was tried keeps the promise.
    """
    x, w = to_numpy(state.x), state.merit.weights[1:]
    f, J = w * state.values[1:], w[:, None] * state.J[1:]
    rows, damping = linear_rows(problem.domain, x), state.damping
    h = 0.5 * float(np.square(np.maximum(f, 0.0)).sum())
    size = np.square(J[f > 0]).sum(axis=0)
    ridge = np.maximum(size, LEAST_DAMPING * size.max(initial=TINY))
    for _ in range(TRIES):
        H = np.diag(damping * ridge)
        answer = QuadraticProgram(H, np.zeros(x.size), f, J, rows).least_squares()
        if answer is None:
            return None
        left = 0.5 * float(np.square(np.maximum(f + J @ answer.s, 0.0)).sum())
        if h - left <= LEAST_PROMISE * h:
            return None
        ahead = try_at(problem, problem.domain.project(like(x + answer.s, state.x)))
        if ahead is not None:
            reached = 0.5 * float(np.square(np.maximum(w * ahead.constraints, 0.0)).sum())
            if reached <= h - SUFFICIENT_DECREASE * (h - left):
                return ahead, max(damping * WEAKER, LEAST_DAMPING)
        damping *= STRONGER
    return None
