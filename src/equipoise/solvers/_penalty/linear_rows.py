"""Linear programs over a domain: its rows around a point, and the linear model of a penalty."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_array, block_diag, csr_array, eye_array

from equipoise.sets import Box, L1Ball, L2Ball, Polytope, Product, Simplex, WholeSpace
from equipoise.sets.set import Set
from equipoise.solvers._solver import UnsuitableSolverError


@dataclass(frozen=True, eq=False)
class LinearRows:
    """The steps ``{s : low <= s <= high, A s + B v <= b for some v}``; 0 is one of them."""

    low: np.ndarray  # (d,)
    high: np.ndarray  # (d,)
    A: csr_array  # (k, d)
    B: csr_array  # (k, e)
    b: np.ndarray  # (k,)


def linear_rows(domain: Set, x: np.ndarray) -> LinearRows:
    """Return the steps from the point `x` of the domain that stay in it, as linear rows.

    Exact for polyhedra. A ball is enlarged to the half-space ``|x + s - c|^2 <= r^2`` to first
    order (differentiable at the centre too, unlike the norm); the caller projects.
    """
    match domain:
        case WholeSpace():
            return _rows(x)
        case Box(lower=lower, upper=upper):
            return _rows(x, np.minimum(lower - x, 0.0), np.maximum(upper - x, 0.0))
        case Polytope(A=A, b=b):
            return _rows(x, A=A, b=b - A @ x)
        case Simplex():  # the sum neither grows nor falls
            one = np.ones(x.size)
            return _rows(x, low=-np.maximum(x, 0.0), A=np.stack((one, -one)), b=np.zeros(2))
        case L2Ball(radius=radius, center=center):
            offset = x if center is None else x - center
            return _rows(x, A=2.0 * offset[None, :], b=np.array([radius**2 - offset @ offset]))
        case L1Ball(radius=radius):
            return _l1_rows(radius, x)
        case Product(blocks=blocks):
            ends = np.cumsum([size for _, size in blocks])[:-1]
            return _joined([linear_rows(b, y) for (b, _), y in zip(blocks, np.split(x, ends))])
    raise UnsuitableSolverError(
        f"Linear programs need a domain made of Box, Polytope, L1Ball, L2Ball, Simplex, WholeSpace "
        f"or products of them, got {domain!r}. Choose another solver."
    )


def _rows(
    x: np.ndarray,
    low: np.ndarray | float = -np.inf,
    high: np.ndarray | float = np.inf,
    A: Any = None,
    B: Any = None,
    b: np.ndarray | None = None,
) -> LinearRows:
    b = np.empty(0) if b is None else np.maximum(b, 0.0)  # x is in the domain: below 0 is rounding
    A = csr_array((0, x.size) if A is None else A)
    B = csr_array((b.size, 0)) if B is None else B
    return LinearRows(np.broadcast_to(low, x.shape), np.broadcast_to(high, x.shape), A, B, b)


def _l1_rows(radius: float, x: np.ndarray) -> LinearRows:
    """``|x_j + s_j| <= |x_j| + v_j`` and ``sum_j v_j <= r - |x|_1``."""
    one, size = eye_array(x.size, format="csr"), np.abs(x)
    A = block_array([[one], [-one], [csr_array((1, x.size))]], format="csr")
    B = block_array([[-one], [-one], [csr_array(np.ones((1, x.size)))]], format="csr")
    return _rows(x, A=A, B=B, b=np.concatenate((size - x, size + x, [radius - size.sum()])))


def _joined(parts: list[LinearRows]) -> LinearRows:
    return LinearRows(
        low=np.concatenate([part.low for part in parts]),
        high=np.concatenate([part.high for part in parts]),
        A=block_diag([part.A for part in parts], format="csr"),
        B=block_diag([part.B for part in parts], format="csr"),
        b=np.concatenate([part.b for part in parts]),
    )


@dataclass(frozen=True, eq=False)
class LinearModel:
    """The model ``l(s; p) = f_0 + grad f_0's + p sum_i [f_i + grad f_i's]_+`` over a domain.

    Attributes
    ----------
    values : ndarray of shape (m + 1,)
    J : ndarray of shape (m + 1, d)
        The gradients, one row per function.
    rows : LinearRows
    """

    values: np.ndarray
    J: np.ndarray
    rows: LinearRows

    @property
    def violation(self) -> float:
        """The sum of violations ``h = sum_i [f_i]_+``."""
        return float(np.maximum(self.values[1:], 0.0).sum())

    def decrease(self, s: np.ndarray, p: float) -> float:
        """Return ``l(0; p) - l(s; p)``."""
        return float(p * self.relief(s) - self.J[0] @ s)

    def relief(self, s: np.ndarray) -> float:
        """Return by how much `s` lowers the sum of violations, to first order."""
        f = self.values[1:]
        return float((np.maximum(f, 0.0) - np.maximum(f + self.J[1:] @ s, 0.0)).sum())

    def minimise(self, p: float, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the minimiser of ``l(s; p)`` over ``|s|_inf <= radius``, and the multipliers."""
        return self._program(self.J[0], p, radius)

    def restore(self, radius: float) -> np.ndarray:
        """Return the step that lowers the sum of violations most."""
        return self._program(np.zeros(self.J.shape[1]), 1.0, radius)[0]

    @cached_property
    def _matrix(self) -> csr_array:
        """The rows of the programs, in the unknowns ``(s, t, v)``."""
        k, e, m = self.rows.b.size, self.rows.B.shape[1], self.values.size - 1
        linearised = [csr_array(self.J[1:]), -eye_array(m), csr_array((m, e))]
        return block_array(
            [linearised, [self.rows.A, csr_array((k, m)), self.rows.B]], format="csr"
        )

    def _program(self, slope: np.ndarray, p: float, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """Solve in units of the radius, with t the change of the violations: all sizes are moderate.

        ``min slope's + p 1't  s.t.  J s - t <= [-f]_+, t >= -[f]_+, A s + B v <= b, |s|_inf <= 1``.
        """
        f, rows = self.values[1:] / radius, self.rows
        d, e, m = rows.A.shape[1], rows.B.shape[1], f.size
        bounds = np.empty((d + m + e, 2))
        bounds[:d, 0] = np.maximum(rows.low / radius, -1.0)
        bounds[:d, 1] = np.minimum(rows.high / radius, 1.0)
        bounds[d:, 0] = np.concatenate((-np.maximum(f, 0.0), np.full(e, -np.inf)))
        bounds[d:, 1] = np.inf
        limits = np.concatenate((np.maximum(-f, 0.0), rows.b / radius))
        cost = np.concatenate((slope, np.full(m, p), np.zeros(e)))
        tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        for method in ("highs", "highs-ipm"):
            answer = linprog(
                cost, self._matrix, limits, bounds=bounds, method=method, options=tight
            )
            if answer.status == 0:
                lam = np.clip(-answer.ineqlin.marginals[:m], 0.0, p)
                return radius * answer.x[:d], lam
        raise ArithmeticError(f"ExactPenalty: a linear program failed: {answer.message}")
