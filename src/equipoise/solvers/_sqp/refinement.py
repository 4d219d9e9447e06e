"""A better step by Hessian products, where the problem has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from equipoise.solvers._sqp.curvature import rescaled, updated
from equipoise.solvers._sqp.quadratic_program import Answer, QuadraticProgram

# Products for one step at the most. Measured with 5, 8 and 20 on the plain problems of `benchmarks.peers`:
# with 5 a good point is reached with the least work.
MAX_PRODUCTS = 5

Product = Callable[[np.ndarray], np.ndarray]


def refined(
    program: QuadraticProgram, answer: Answer, product: Product, enough: float, fresh: bool
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
    for k in range(MAX_PRODUCTS):
        p = answer.s - s
        Ap = product(p)
        missed, curve = Ap - H @ p, float(p @ Ap)
        if not curve > 0:
            break  # the exact program has no minimiser, or is far from H
        if k == 0 and fresh:
            H = rescaled(H, p, Ap)
        H = updated(H, p, Ap)  # 2
        if float(np.linalg.norm(missed)) <= enough:
            break
        t = min(-float((g + exact) @ p) / curve, program.room(s, p))
        s, exact = s + t * p, exact + t * Ap
        better = replace(program, H=H, g=g + exact - H @ s).solve()  # 3
        if better is None:
            break
        answer = better
    return H, answer
