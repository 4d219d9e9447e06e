"""A preconditioner for conjugate gradients: what is known of a Hessian."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from equipoise._array import Array, quiet
from equipoise.solvers._newton.hessian import Map, raised_inverse
from equipoise.solvers._newton.remembered import Notes, Remembered

# Where conjugate gradients needed at most this many products, the estimate is good as it is. Their directions
# are not remembered then: they would be out of date when they are needed. Chosen.
NOTHING_TO_LEARN = 2

# Where they needed more than this many, the estimate is made anew before the next step. Chosen.
MAX_PRODUCTS_IF_GOOD = 5

# Added to the diagonal of an estimate before it is factored, relative to the diagonal's mean; raised
# a hundredfold until the factorisation succeeds. Chosen: a hundred thousand rounding errors.
RIDGE, RIDGE_GROWTH = 1e-10, 100.0

# A Hessian that is known counts as positive definite where it is still so with this share of its diagonal's
# mean less on the diagonal. Chosen: ten thousand rounding errors.
CLEARLY = 1e-12


@dataclass(frozen=True)
class Preconditioner:
    """What is known of a Hessian H: an estimate F, and H itself on the last directions of CG."""

    factor: np.ndarray  # of F: (d, d) lower triangular; F itself where it is a diagonal (d,)
    remembered: Remembered
    good: bool = True  # whether it does well
    bends: bool = False  # whether jumps had to raise H, which bends downwards
    matrix: np.ndarray | None = None  # H itself (d, d), where it is known
    convex: bool = False  # whether H is known, and positive definite

    @staticmethod
    def of(estimate: np.ndarray, known: Preconditioner | None = None) -> Preconditioner:
        """Factor a new estimate; directions that are known already are kept."""
        factor = _factored(estimate)
        if known is None:
            return Preconditioner(factor, Remembered.nothing(len(estimate)))
        return Preconditioner(factor, known.remembered, bends=known.bends)

    @staticmethod
    def exact(matrix: np.ndarray) -> Preconditioner:
        """Return what a Hessian itself tells, of which F is the absolute value where it is not convex."""
        factor = cholesky_factor(matrix)
        if factor is None:
            values, vectors = np.linalg.eigh(matrix)
            factor = _factored((vectors * np.abs(values)) @ vectors.T)
            return Preconditioner(factor, Remembered.nothing(len(matrix)), matrix=matrix)
        return Preconditioner(factor, Remembered.nothing(len(matrix)), matrix=matrix, convex=True)

    @property
    def is_matrix(self) -> bool:
        """Whether the estimate is a matrix; else it is a diagonal."""
        return self.factor.ndim == 2

    @quiet
    def solve(self, v: Array) -> Array:
        """Return ``M v``, with M close to the inverse of H, for a vector or columns."""
        if len(self.remembered) == 0:
            return self._solve(v)
        return self.remembered.corrected(self._solve, v)

    @quiet
    def raised(self, rows: np.ndarray, b: float) -> Map:
        """Return ``v -> M v`` with M close to the inverse of ``H + b rows' rows``."""
        solve = raised_inverse(self._solve, rows, b)
        if len(self.remembered) == 0:
            return solve
        known = self.remembered.raised(rows, b)
        return lambda v: known.corrected(solve, v)

    def after(self, notes: Notes, products: int, bends: bool = False) -> Preconditioner:
        """Return what is known after runs of CG that took at most so many `products` each.

        `bends` says that H had to be raised.
        """
        known = replace(self, good=products <= MAX_PRODUCTS_IF_GOOD, bends=self.bends or bends)
        few = len(self.remembered) == 0 and products <= NOTHING_TO_LEARN
        if self.matrix is not None or few or not notes.pairs:
            return known
        return replace(known, remembered=Remembered.of(notes))

    def _solve(self, v: Array) -> Array:
        if self.factor.ndim == 1:
            return v / (self.factor if v.ndim == 1 else self.factor[:, None])
        return cho_solve((self.factor, True), v, check_finite=False)


def cholesky_factor(matrix: np.ndarray) -> np.ndarray | None:
    """Return the factor of a matrix that is clearly positive definite; None of another."""
    raised = matrix.copy(order="F")
    diagonal = np.einsum("ii->i", raised)
    diagonal -= CLEARLY * float(diagonal.mean())
    try:
        np.linalg.cholesky(raised)
        return cho_factor(matrix, lower=True, check_finite=False)[0]
    except LinAlgError:
        return None


def _factored(estimate: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of a positive semi-definite matrix, or a diagonal, slightly raised.

    In double precision, whatever the estimate's: sums over rows of very different weight are
    nearly singular.
    """
    mean = estimate.mean() if estimate.ndim == 1 else estimate.diagonal().mean()
    ridge = 1e-12 + RIDGE * float(mean)
    if estimate.ndim == 1:
        return estimate + ridge
    diagonal = estimate.diagonal().astype(np.float64)
    while ridge < 1e300:
        factor = estimate.astype(np.float64, order="F")
        np.fill_diagonal(factor, diagonal + ridge)
        try:
            factor = cho_factor(
                factor,
                lower=True,
                overwrite_a=True,  # spares a copy
                check_finite=False,
            )[0]
        except LinAlgError:
            ridge *= RIDGE_GROWTH
            continue
        if np.isfinite(factor.diagonal()).all():
            return factor
        break
    return np.ones(len(estimate))  # the estimate is not finite: nothing is known
