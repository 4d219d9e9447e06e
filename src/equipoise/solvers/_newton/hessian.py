"""Products with second derivatives of a Lagrangian at one point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError

from equipoise._array import TINY, Array, norm
from equipoise._problem import Point, Problem

Map = Callable[[Array], Array]

# The length, relative to max(1, |x|), of the step along which gradients are differenced where a
# problem has no Hessian products. Chosen: between rounding errors and the curvature's own change.
DIFFERENCE_STEP = 1e-6


def hessian(
    problem: Problem, point: Point, weights: np.ndarray, gradient: Array | None = None
) -> Map:
    """Return products with the weighted sum of Hessians; by differences where there is no `hvp`.

    The weighted sum of gradients is computed where it is not given.
    """
    if point.matrix is not None:
        return point.matrix(weights).__matmul__
    if point.hvp is not None:
        hvp = point.hvp
        return lambda v: hvp(weights, v)
    base = point.vjp(weights) if gradient is None else gradient

    def product(v: Array) -> Array:
        h = DIFFERENCE_STEP * max(1.0, norm(point.x)) / max(norm(v), TINY)
        return (problem.at(point.x + h * v).vjp(weights) - base) / h

    return product


def raised(product: Map, rows: Array, b: float) -> Map:
    """Return ``v -> product(v) + b sum_i rows_i <rows_i, v>`` for the rows of a matrix (k, d)."""
    if rows.shape[0] == 0:
        return product
    return lambda v: product(v) + b * (rows.T @ (rows @ v))


def raised_inverse(solve: Map, rows: np.ndarray, b: float) -> Map:
    """Return ``v -> (F + b sum_i rows_i rows_i')^-1 v`` from ``solve = F^-1``, by Woodbury's formula."""
    if len(rows) == 0:
        return solve
    if rows.shape[0] > rows.shape[1]:  # fewer rows R with R'R = rows' rows do the same
        rows = np.asarray(np.linalg.qr(rows, mode="r"))
    Z = solve(rows.T)
    try:
        small = np.linalg.inv(np.eye(len(rows)) / b + rows @ Z)
    except LinAlgError:  # singular to working precision: the rows are left out
        return solve
    return lambda v: solve(v) - Z @ (small @ (Z.T @ v))
