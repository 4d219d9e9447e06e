"""Second derivatives of a Lagrangian at one point: products, and a preconditioner for them."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from equipoise._array import Array, dot, norm
from equipoise.problem import Point, Problem
from equipoise.solvers.newton_cg import Map


def hessian(problem: Problem, point: Point, weights: np.ndarray) -> Map:
    """Return products with the weighted sum of Hessians; by differences where there is no `hvp`."""
    if point.hvp is not None:
        hvp = point.hvp
        return lambda v: hvp(weights, v)
    base = point.vjp(weights)

    def product(v: Array) -> Array:
        h = 1e-6 * max(1.0, norm(point.x)) / max(norm(v), 1e-300)
        return (problem.at(point.x + h * v).vjp(weights) - base) / h

    return product


def raised(product: Map, rows: list[Array], b: float) -> Map:
    """Return ``v -> product(v) + b sum_i rows_i <rows_i, v>``."""

    def sum_of(v: Array) -> Array:
        total = product(v)
        for row in rows:
            total = total + (b * dot(row, v)) * row
        return total

    return sum_of


def inverse(estimate: np.ndarray) -> Map:
    """Return ``v -> F^-1 v`` for a positive semi-definite F, slightly raised, or for its diagonal.

    Also for a matrix of columns `v`.
    """
    ridge = 1e-12 + 1e-10 * float(
        estimate.mean() if estimate.ndim == 1 else estimate.diagonal().mean()
    )
    if estimate.ndim == 1:
        diagonal = estimate + ridge
        return lambda v: v / (diagonal if v.ndim == 1 else diagonal[:, None])
    while True:
        np.fill_diagonal(estimate, estimate.diagonal() + ridge)
        try:
            factor = cho_factor(estimate, lower=True, check_finite=False)
            return lambda v: cho_solve(factor, v, check_finite=False)
        except LinAlgError:
            ridge *= 100.0


def raised_inverse(solve: Map, rows: list[Array], b: float) -> Map:
    """Return ``v -> (F + b sum_i rows_i rows_i')^-1 v`` from ``solve = F^-1`` (Woodbury)."""
    if not rows:
        return solve
    J = np.array(rows)
    Z = solve(J.T)
    small = np.linalg.inv(np.eye(len(J)) / b + J @ Z)
    return lambda v: solve(v) - Z @ (small @ (Z.T @ v))
