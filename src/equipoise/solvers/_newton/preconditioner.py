"""Second derivatives of a Lagrangian at one point: products, and a preconditioner for them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from equipoise._array import Array, norm, quiet
from equipoise.problem import Point, Problem
from equipoise.solvers._newton.conjugate_gradients import Map, Seen

GOOD = 2  # products of CG that show an estimate of the Hessian to be good by itself
FEW = 5  # products of CG beyond which it is made anew


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


def raised(product: Map, rows: Array, b: float) -> Map:
    """Return ``v -> product(v) + b sum_i rows_i <rows_i, v>`` for the rows of a matrix (k, d)."""
    if rows.shape[0] == 0:
        return product
    return lambda v: product(v) + b * (rows.T @ (rows @ v))


@dataclass(frozen=True)
class Learned:
    """What is known of a Hessian H: an estimate F, and H itself on the last directions of CG."""

    factor: np.ndarray  # of F: (d, d) lower triangular, or F itself if a diagonal (d,)
    P: np.ndarray  # (d, k) directions, scaled so that P' H P is the identity; float32
    HP: np.ndarray  # (d, k)
    good: bool = True  # whether it does well as a preconditioner

    @staticmethod
    def of(estimate: np.ndarray, known: Learned | None = None) -> Learned:
        """Factor a new estimate; what is known of directions is kept."""
        if known is not None:
            return Learned(_factored(estimate), known.P, known.HP)
        none = np.zeros((len(estimate), 0), dtype=np.float32)
        return Learned(_factored(estimate), none, none)

    @quiet
    def solve(self, v: Array) -> Array:
        """Return ``M v`` with ``M H P = P``, for a vector or columns.

        ``M = (I - P (HP)') F^-1 (I - HP P') + P P'`` is positive definite, whatever H has become.
        """
        if self.P.shape[1] == 0:
            return self._solve(v)
        known = self.P.T @ v.astype(np.float32)
        rest = self._solve(v - self.HP @ known)
        return rest + self.P @ (known - self.HP.T @ rest.astype(np.float32))

    @quiet
    def after(self, seen: Seen, products: int) -> Learned:
        """Return what is known after runs of CG of at most so many `products`.

        A few products show F to be good by itself: then nothing is noted, as it would grow old.
        Directions that add nothing are dropped.
        """
        good = products <= FEW
        if not seen or (self.P.shape[1] == 0 and products <= GOOD):
            return replace(self, good=good)
        P = np.array([p for p, _ in seen]).T
        HP = np.array([seen.popleft()[1] for _ in range(len(seen))]).T
        square = P.T @ HP
        values, vectors = np.linalg.eigh((square + square.T) / 2)
        new = values > 1e-3
        turn = vectors[:, new] / np.sqrt(values[new])
        P = P @ turn  # one after the other: they can be large
        HP = HP @ turn
        return Learned(self.factor, P, HP, good)

    def _solve(self, v: Array) -> Array:
        if self.factor.ndim == 1:
            return v / (self.factor if v.ndim == 1 else self.factor[:, None])
        return cho_solve((self.factor, True), v, check_finite=False)


def _factored(estimate: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of a positive semi-definite matrix, or a diagonal, slightly raised.

    In double precision, whatever the estimate's: sums over rows of very different weight are
    nearly singular.
    """
    mean = estimate.mean() if estimate.ndim == 1 else estimate.diagonal().mean()
    ridge = 1e-12 + 1e-10 * float(mean)
    if estimate.ndim == 1:
        return estimate + ridge
    diagonal = estimate.diagonal().astype(np.float64)
    while ridge < 1e300:
        factor = estimate.astype(np.float64, order="F")
        np.fill_diagonal(factor, diagonal + ridge)
        try:
            factor = cho_factor(factor, lower=True, overwrite_a=True, check_finite=False)[0]
        except LinAlgError:
            ridge *= 100.0
            continue
        if np.isfinite(factor.diagonal()).all():
            return factor
        break
    return np.ones(len(estimate))  # not finite: nothing is known


def raised_inverse(solve: Map, rows: np.ndarray, b: float) -> Map:
    """Return ``v -> (F + b sum_i rows_i rows_i')^-1 v`` from ``solve = F^-1`` (Woodbury)."""
    if len(rows) == 0:
        return solve
    Z = solve(rows.T)
    try:
        small = np.linalg.inv(np.eye(len(rows)) / b + rows @ Z)
    except LinAlgError:  # singular to working precision
        return solve
    return lambda v: solve(v) - Z @ (small @ (Z.T @ v))
