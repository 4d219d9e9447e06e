"""A polytope given by linear inequalities."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from scipy.linalg import orth, qr, solve_triangular
from scipy.optimize import linprog, nnls
from scipy.sparse import issparse

from equipoise import _check
from equipoise._array import Array, like, norm, to_numpy
from equipoise.sets._linear_rows import LinearRows
from equipoise.sets._set import Set
from equipoise.sets._stored import stored
from equipoise.sets._tolerance import reached, rounding

# Steps of the non-negative least squares that find the rows of a tangent map, at the most: more than any that
# was met has taken. Chosen.
MAX_STEPS = 10_000

# Rows of length one depend on each other where less of one is left beside the others; chosen.
DEPENDENT = 1e-8

# How far the quadratic program's answer may be outside, in multiples of the largest violation: tried in turn,
# as the narrow ones ask too much of some rows that depend on each other. Chosen.
TOLERANCES = 1e-12, 1e-9, 1e-6


@final
@dataclass(frozen=True, eq=False, repr=False)
class Polytope(Set):
    r"""The polyhedron :math:`\{x : A x \le b\}`, bounded or not, not empty.

    The projection is that on the row violated most, where this keeps the others. Else it
    solves :math:`\min_y \frac12 |y - x|^2` subject to :math:`A y \le b` with the dual active-set
    solver DAQP, then once more exactly on the rows found active. At `x`
    the normal cone is spanned by the active rows; the projection of `v` on it is a
    non-negative least-squares problem, and with `B` the rows of positive weight the tangent
    projection is :math:`v - B^+ B v`.

    Both work on the host in double precision; for a box, a ball or a simplex the set of that
    name is much cheaper.

    Parameters
    ----------
    A : array-like of shape (m, d)
        The rows. A SciPy sparse matrix is accepted and made dense.
    b : array-like of shape (m,)
        The right-hand sides, finite.

    Examples
    --------
    >>> import numpy as np
    >>> Polytope([[1.0, 1.0]], [1.0]).project(np.array([1.0, 1.0]))
    array([0.5, 0.5])
    """

    name: ClassVar[str] = "polytope"

    A: Array  # (m, d)
    b: Array  # (m,)
    dim: int | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        A = _matrix(self.A)
        b = _check.vector("Polytope", "b", self.b, A.shape[0])
        object.__setattr__(self, "A", stored(A))
        object.__setattr__(self, "b", stored(b))
        object.__setattr__(self, "dim", A.shape[1])
        if np.any(b[~self._used] < 0.0) or self._program(np.zeros(A.shape[1])).status == 2:
            raise ValueError("Polytope: `A` and `b` must admit a point, but no x has A x <= b.")

    def __repr__(self) -> str:
        return f"Polytope(rows={self.b.size}, dim={self.dim})"

    @cached_property
    def diameter(self) -> float:
        """An upper bound: the diagonal of the bounding box (`2 d` linear programs, once)."""
        assert self.dim is not None
        widths = np.zeros(self.dim)
        for i, axis in enumerate(np.eye(self.dim)):
            for direction in (axis, -axis):
                answer = self._program(direction)
                if answer.status != 0:
                    return math.inf
                widths[i] -= answer.fun * self._size
        return norm(widths)

    def project(self, x: Array) -> Array:
        """Return `x`, or the nearest point by quadratic programming."""
        x = self._checked(x)
        point = to_numpy(x)
        excess = self._rows @ point - self._bounds
        slack = rounding(x) * np.maximum(np.abs(self._bounds), np.max(np.abs(point)))
        if np.all(excess <= slack):
            return x
        worst = np.arange(excess.size) == np.argmax(excess)  # one row, also where several tie
        first = self._polished(point, point, worst)
        if np.all(self._rows @ first - self._bounds <= slack):
            return like(first, x)
        return like(self._nearest(point, excess), x)

    def tangent_map(self, x: Array, v: Array) -> Callable[[Array], Array]:
        """Return the map on the null space of the active rows that hold `v` back."""
        x = self._checked(x)
        point, direction = to_numpy(x), to_numpy(v)
        size = max(float(np.max(np.abs(point))), 1.0)
        scale = np.maximum(np.abs(self._bounds), size)
        active = self._rows[self._bounds - self._rows @ point <= reached(x) * scale]
        length = norm(direction)
        if active.shape[0] == 0 or length == 0.0:
            return lambda w: w
        weights, _ = nnls(active.T, direction / length, maxiter=MAX_STEPS)
        basis = like(orth(active[weights > 0.0].T), x)  # (d, k), orthonormal
        return lambda w: w - (w @ basis) @ basis.T

    def _nearest(self, x: np.ndarray, excess: np.ndarray) -> np.ndarray:
        """Solve the projection as ``min |z|^2 / 2 s.t. rows z <= -excess`` for ``z = y - x``."""
        import daqp

        # The largest violation becomes 1, unless it is itself almost rounding error.
        unit = max(float(np.max(excess)), 1e-6 * norm(x))
        rows, bounds = np.array(self._rows), -excess / unit
        for tolerance in TOLERANCES:
            z, _, flag, info = daqp.solve(
                np.eye(x.size), np.zeros(x.size), rows, bounds, primal_tol=tolerance
            )
            if flag == 1:
                return self._polished(x, x + unit * z, info["lam"] > 0.0)
        raise ArithmeticError(
            f"Polytope: the projection failed (DAQP exit flag {flag}); "
            "`A` and `b` may leave no interior at this precision."
        )

    def _polished(self, x: np.ndarray, y: np.ndarray, active: np.ndarray) -> np.ndarray:
        """Return the projection of `x` on the active rows' plane, if no worse than `y`."""
        B, c = self._rows[active], self._bounds[active]
        if not 0 < B.shape[0] <= x.size:
            return y
        Q, R = qr(B.T, mode="economic")
        if np.min(np.abs(np.diag(R))) < DEPENDENT:
            return y
        z = x
        for _ in range(2):  # the second pass removes the rounding error of the first
            z = z - Q @ solve_triangular(R, B @ z - c, trans="T")
        worse = np.max(self._rows @ z - self._bounds) > max(
            np.max(self._rows @ y - self._bounds), 1e-15 * norm(y)
        )
        pulls = np.any(solve_triangular(R, Q.T @ (x - z)) < 0.0)
        return y if worse or pulls else z

    def _program(self, cost: np.ndarray) -> Any:
        """Minimise a linear cost over the polytope, in units of its right-hand side."""
        return linprog(cost, A_ub=self._rows, b_ub=self._bounds / self._size, bounds=(None, None))

    @cached_property
    def _used(self) -> np.ndarray:
        """Which rows restrict anything: those that are not zero."""
        return np.any(self.A != 0.0, axis=1)

    @cached_property
    def _lengths(self) -> np.ndarray:
        """The norms of the used rows, safe from overflow."""
        A = self.A[self._used]
        largest = np.max(np.abs(A), axis=1)
        return largest * np.linalg.norm(A / largest[:, None], axis=1)

    @cached_property
    def _rows(self) -> np.ndarray:
        """The used rows, of length one."""
        return self.A[self._used] / self._lengths[:, None]

    @cached_property
    def _bounds(self) -> np.ndarray:
        """The right-hand sides of the rows of length one."""
        return self.b[self._used] / self._lengths

    @cached_property
    def _size(self) -> float:
        """The usual size of a bound (1 for a cone): the unit of the linear programs."""
        sizes = np.abs(self._bounds[self._bounds != 0.0])
        return float(np.median(sizes)) if sizes.size else 1.0

    def linear_rows(self, x: np.ndarray) -> LinearRows:
        """Return the steps from `x` that stay in the set."""
        return LinearRows.of(x.size, A=self.A, b=self.b - self.A @ x)


def _matrix(value: Any) -> np.ndarray:
    """Return the rows as a finite, dense (m, d) array."""
    value = value.toarray() if issparse(value) else value
    rows = _check.matrix("Polytope", "A", value, "m", "d")
    if rows.shape[1] == 0:
        _check.fail("Polytope", "A", "must have shape (m, d), d >= 1", rows.shape)
    return rows
