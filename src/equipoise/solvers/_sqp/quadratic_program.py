"""The quadratic program of a step: functions to first order, the domain's rows, a convex model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise._array import TINY
from equipoise.sets import LinearRows
from equipoise.solvers._sqp.opposites import opposite_rows

# What is added to the diagonal, relative to it, and the tolerance of the solver, whose variables, rows and
# right-hand sides are scaled to about 1; tried in turn where the solver fails on a matrix that is nearly
# singular. Chosen: the first near the rounding error, as the last steps of a run depend on it.
RIDGES = ((0.0, 1e-12), (1e-8, 1e-9), (1e-4, 1e-6))

# The curvature of variables that have none (those of `LinearRows.B`, and the slacks), relative to the
# others. Chosen: small enough not to be felt, large enough to factorise.
SLIGHT = 1e-8

# The price of exceeding a row by its length, relative to the largest slope of the objective in well-scaled
# units: feasibility comes first. Chosen.
PRICE = 100.0

EQUATION = 5  # how the solver marks a row whose two bounds agree


@dataclass(frozen=True)
class Answer:
    """The minimiser of a quadratic program, and its multipliers."""

    s: np.ndarray  # (d,)
    lam: np.ndarray  # (m,) of the functions, not negative


@dataclass(frozen=True)
class QuadraticProgram:
    r"""``min g's + s'Hs/2  s.t.  f + J s <= 0, s in the domain's rows``, in well-scaled units.

    Every variable is measured in units that make the diagonal of H 1, every row by its length in
    these units, and all right-hand sides are divided by the size of the step to expect: so neither the
    units of variables nor those of functions matter. Of two functions with opposite gradients one row
    with two bounds is made, an equation where they agree.
    """

    H: np.ndarray  # (d, d) positive definite
    g: np.ndarray  # (d,)
    f: np.ndarray  # (m,)
    J: np.ndarray  # (m, d)
    rows: LinearRows

    def solve(self) -> Answer | None:
        """Return the minimiser; None where the rows exclude each other."""
        unit, lengths = self._units()
        i, j = opposite_rows(self.J)
        if not lengths.all():
            if (self.f[lengths == 0] > 0).any():
                return None
            long = lengths[i] > 0
            i, j = i[long], j[long]
        low, high = np.full(i.size, -np.inf), -self.f[i] / lengths[i]
        two = j >= 0
        if two.any():
            low[two] = self.f[j[two]] / lengths[i[two]]
        if (low > high).any():
            return None
        A = self.J[i] * (unit / lengths[i][:, None])
        found = self._minimise(self.H, self.g, unit, A, low, high)
        if found is None:
            return None
        s, mu = found
        lam = np.zeros(self.f.size)
        lam[i] = np.maximum(mu, 0.0) / lengths[i]
        lam[j[two]] = np.maximum(-mu[two], 0.0) / lengths[j[two]]
        return Answer(s, lam)

    def room(self, s: np.ndarray, p: np.ndarray) -> float:
        """Return the largest t for which ``s + t p`` keeps all rows; `s` and ``s + p`` keep them."""
        rows = self.rows
        if rows.b.size:
            return 1.0
        ahead = np.concatenate((self.J @ p, p, -p))
        left = np.concatenate((-self.f - self.J @ s, rows.high - s, s - rows.low))
        near = ahead > 1e-12  # the others do not come nearer, but for rounding
        return max(1.0, float(np.min(left[near] / ahead[near], initial=np.inf)))

    def elastic(self) -> Answer | None:
        """Return the minimiser where a function may be positive at a price, in units of its row's length."""
        unit, lengths = self._units()
        price = PRICE * max(float(np.abs(unit * self.g).max()), SLIGHT)
        return self._soft(
            unit, lengths, np.full(lengths.size, price), np.full(lengths.size, PRICE * SLIGHT)
        )

    def least_squares(self) -> Answer | None:
        """Return the minimiser where positive values cost half their squares."""
        unit, lengths = self._units()
        return self._soft(unit, lengths, np.zeros(lengths.size), lengths * lengths)

    def _soft(
        self, unit: np.ndarray, lengths: np.ndarray, price: np.ndarray, bend: np.ndarray
    ) -> Answer | None:
        """Solve with a slack t for every row, which costs ``price t + bend t^2 / 2``."""
        used = np.flatnonzero(lengths > 0)
        bend = np.maximum(bend, TINY)  # the square of a tiny length underflows
        d, k = self.g.size, used.size
        H = np.zeros((d + k, d + k))
        H[:d, :d] = self.H
        H[range(d, d + k), range(d, d + k)] = bend[used]
        g = np.concatenate((self.g, price[used]))
        wide = np.concatenate((unit, np.maximum(1.0 / np.sqrt(bend[used]), TINY)))
        A = np.hstack(
            (self.J[used] * (unit / lengths[used][:, None]), np.diag(-1.0 / np.sqrt(bend[used])))
        )
        free = np.full(k, -np.inf)
        bounds = np.zeros(k), np.full(k, np.inf)
        found = self._minimise(H, g, wide, A, free, -self.f[used] / lengths[used], bounds)
        if found is None:
            return None
        s, mu = found
        lam = np.zeros(self.f.size)
        lam[used] = np.maximum(mu, 0.0) / lengths[used]
        return Answer(s[:d], lam)

    def _units(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the units of the variables, and the lengths of the rows in them."""
        bend = np.maximum(self.H.diagonal(), TINY)  # H may vanish, or be infinite
        unit = np.maximum(1.0 / np.sqrt(bend), TINY)
        scaled = self.J * unit
        return unit, np.sqrt((scaled * scaled).sum(axis=1))

    def _minimise(
        self,
        H: np.ndarray,
        g: np.ndarray,
        unit: np.ndarray,
        A: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        bounds: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Solve over the variables, more of them with their `bounds`, and those of the domain's rows."""
        from daqp import solve

        rows, n, k = self.rows, g.size, high.size
        d, e = self.g.size, rows.B.shape[1]
        matrix, target = H * (unit[:, None] * unit), unit * g
        if rows.b.size:
            more = np.hstack((rows.A.toarray() * unit[:d], np.zeros((rows.b.size, n - d))))
            if e:
                pad = np.zeros((n, e))
                matrix = np.block([[matrix, pad], [pad.T, SLIGHT * np.eye(e)]])
                target = np.concatenate((target, np.zeros(e)))
                A = np.hstack((A, np.zeros((k, e))))
                more = np.hstack((more, rows.B.toarray()))
            size = np.maximum(np.sqrt((more * more).sum(axis=1)), TINY)
            A = np.vstack((A, more / size[:, None]))
            low = np.concatenate((low, np.full(size.size, -np.inf)))
            high = np.concatenate((high, rows.b / size))
        tau = max(float(np.abs(target).max()), float((-high).max(initial=TINY)))
        bounded = 0 if bounds is None and rows.unbounded else n + e
        if bounded:
            least, most = bounds or (np.empty(0), np.empty(0))
            edge = np.full(e, np.inf)
            high = np.concatenate((np.concatenate((rows.high, most)) / unit, edge, high))
            low = np.concatenate((np.concatenate((rows.low, least)) / unit, -edge, low))
        upper, lower = high / tau, low / tau
        sense = np.where(upper == lower, np.int32(EQUATION), np.int32(0))
        for ridge, tol in RIDGES:
            if ridge:
                matrix = matrix + ridge * np.eye(n + e)
            p, _, flag, info = solve(
                matrix, target / tau, A, upper, lower, sense, primal_tol=tol, dual_tol=tol
            )
            if flag == 1 and np.isfinite(p).all():
                mu = info["lam"][bounded : bounded + k] * tau
                return p[:n] * unit * tau, mu
            if flag == -1:
                return None
        return None
