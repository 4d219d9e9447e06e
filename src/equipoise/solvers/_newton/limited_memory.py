"""Curvature learned from steps: the limited-memory BFGS estimate of a Hessian."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equipoise._array import Array, dot, norm, quiet
from equipoise.solvers._newton.hessian import Map, raised_inverse
from equipoise.solvers._newton.remembered import Notes

# A change of the gradient tells of curvature where its cosine with the step is more than this: along the
# others the function bends down, or rounding errors are all there is. Chosen.
LEAST_COSINE = 1e-6


@dataclass(frozen=True)
class Change:
    """How a gradient changed along a step."""

    s: Array  # (d,) the step
    y: Array  # (d,) the change of the gradient
    curvature: float  # <s, y>, positive


@dataclass(frozen=True)
class LimitedMemory:
    """A positive definite estimate B of a Hessian, with ``B s = y`` for the latest change (Nocedal 1980).

    Updates start from ``|y| / |s|`` times the identity, the geometric mean of the two customary multiples
    <s, y> / <s, s> and <y, y> / <s, y>. Measured on generated rows with 500 to 10,000 variables: the larger
    takes up to three times as many evaluations, with the smaller the first jumps can be refused.
    """

    size: int  # changes remembered at the most
    changes: tuple[Change, ...] = ()  # the latest is the last

    def learned(self, s: Array, y: Array) -> LimitedMemory:
        """Return the estimate after a step `s` along which the gradient changed by `y`."""
        curvature = dot(s, y)
        if not curvature > LEAST_COSINE * norm(s) * norm(y):
            return self
        return replace(self, changes=(*self.changes, Change(s, y, curvature))[-self.size :])

    @quiet
    def solve(self, v: Array) -> Array:
        """Return ``B^-1 v`` for a vector or columns, by the two-loop recursion."""
        if not self.changes:
            return v
        shares, latest = [], self.changes[-1]
        for change in reversed(self.changes):
            shares.append((change.s @ v) / change.curvature)
            v = v - _times(change.y, shares[-1])
        v = (norm(latest.s) / norm(latest.y)) * v  # the first estimate
        for change in self.changes:
            v = v + _times(change.s, shares.pop() - (change.y @ v) / change.curvature)
        return v

    @property
    def bends(self) -> bool:
        """False: the estimate bends upwards everywhere."""
        return False

    def raised(self, rows: np.ndarray, b: float) -> Map:
        """Return ``v -> (B + b rows' rows)^-1 v``."""
        return raised_inverse(self.solve, rows, b)

    def after(self, notes: Notes, products: int, bends: bool = False) -> LimitedMemory:
        """Return itself: it learns from steps alone."""
        return self


def _times(direction: Array, share: Array) -> Array:
    """Return ``share * direction``, for one share or one of each column."""
    return share * direction if np.ndim(share) == 0 else direction[:, None] * share
