"""A domain around a point as rows of a linear program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import block_array, block_diag, csr_array, eye_array

from equipoise.sets import Box, L1Ball, L2Ball, Polytope, Product, Simplex, WholeSpace
from equipoise.sets._set import Set
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

    The rows are exact for polyhedra. A ball is enlarged to the half-space that ``|x + s - c|^2 <= r^2`` is
    to first order (the square is differentiable at the centre too, unlike the norm); the caller
    projects.
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
    b = np.empty(0) if b is None else np.maximum(b, 0.0)  # x is in the domain, but for rounding
    A = csr_array((0, x.size) if A is None else A)
    B = csr_array((b.size, 0)) if B is None else B
    return LinearRows(np.broadcast_to(low, x.shape), np.broadcast_to(high, x.shape), A, B, b)


def _l1_rows(radius: float, x: np.ndarray) -> LinearRows:
    """Return the rows of ``|x_j + s_j| <= |x_j| + v_j`` and ``sum_j v_j <= r - |x|_1``."""
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
