"""The rows of a quadratic program in well-scaled units, ready for any model, and the solver behind it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise._array import TINY
from equipoise.sets import LinearRows

# What is added to the diagonal, relative to it, and the tolerance of the solver, whose variables, rows and
# right-hand sides are scaled to about 1; tried in turn where the solver fails on a matrix that is nearly
# singular. Chosen: the first near the rounding error, as the last steps of a run depend on it.
RIDGES = ((0.0, 1e-12), (1e-8, 1e-9), (1e-4, 1e-6))

# The curvature of variables that have none (those of `LinearRows.B`, and the slacks), relative to the
# others. Chosen: small enough not to be felt, large enough to factorise.
SLIGHT = 1e-8

EQUATION = 5  # how the solver marks a row whose two bounds agree


@dataclass(frozen=True)
class ScaledRows:
    """``low <= (p, A (p, v)) <= high`` for ``p = s / unit`` and more variables v, of the domain's rows."""

    unit: np.ndarray  # (n,)
    square: np.ndarray  # (n, n) products of two units
    A: np.ndarray  # (k', n + e), the first k of them given
    low: np.ndarray  # (k',), or (n + e + k',) where variables have bounds
    high: np.ndarray
    sense: np.ndarray  # how the solver marks each of these
    given: slice  # where the k are among them
    reach: float  # the largest -high of these

    @staticmethod
    def of(
        rows: LinearRows,
        unit: np.ndarray,
        A: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        bounds: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> ScaledRows:
        """Return given rows, those of the domain, and bounds: its own, and those of more variables."""
        n, k = unit.size, high.size
        d, e = rows.low.size, rows.B.shape[1]
        if rows.b.size:
            more = np.hstack((rows.A.toarray() * unit[:d], np.zeros((rows.b.size, n - d))))
            if e:
                A = np.hstack((A, np.zeros((k, e))))
                more = np.hstack((more, rows.B.toarray()))
            size = np.maximum(np.sqrt((more * more).sum(axis=1)), TINY)
            A = np.vstack((A, more / size[:, None]))
            low = np.concatenate((low, np.full(size.size, -np.inf)))
            high = np.concatenate((high, rows.b / size))
        reach = float((-high).max(initial=TINY))
        bounded = 0 if bounds is None and rows.unbounded else n + e
        if bounded:
            least, most = bounds or (np.empty(0), np.empty(0))
            edge = np.full(e, np.inf)
            high = np.concatenate((np.concatenate((rows.high, most)) / unit, edge, high))
            low = np.concatenate((np.concatenate((rows.low, least)) / unit, -edge, low))
        sense = np.where(high == low, np.int32(EQUATION), np.int32(0))
        given = slice(bounded, bounded + k)
        return ScaledRows(unit, unit[:, None] * unit, A, low, high, sense, given, reach)

    def minimise(self, H: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the minimiser of ``g's + s'Hs/2``, and the multipliers of the given rows."""
        from daqp import solve

        n, e = g.size, self.A.shape[1] - g.size
        matrix, target = H * self.square, self.unit * g
        if e:
            pad = np.zeros((n, e))
            matrix = np.block([[matrix, pad], [pad.T, SLIGHT * np.eye(e)]])
            target = np.concatenate((target, np.zeros(e)))
        tau = max(float(np.abs(target).max()), self.reach)
        upper, lower, target = self.high / tau, self.low / tau, target / tau
        for ridge, tol in RIDGES:
            if ridge:
                matrix = matrix + ridge * np.eye(n + e)
            p, _, flag, info = solve(
                matrix, target, self.A, upper, lower, self.sense, primal_tol=tol, dual_tol=tol
            )
            if flag == 1 and np.isfinite(p).all():
                return p[:n] * self.unit * tau, info["lam"][self.given] * tau
            if flag == -1:
                return None
        return None
