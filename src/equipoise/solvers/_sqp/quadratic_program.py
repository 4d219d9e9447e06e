"""The quadratic program of a step: functions to first order, the domain's rows, a convex model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from equipoise._array import TINY
from equipoise.sets import LinearRows
from equipoise.solvers._sqp.opposites import opposite_rows
from equipoise.solvers._sqp.scaled_rows import SLIGHT, ScaledRows

# The price of exceeding a row by its length, relative to the largest slope of the objective in well-scaled
# units: feasibility comes first. Chosen.
PRICE = 100.0


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
        if self._paired is None:
            return None
        scaled, i, j, lengths = self._paired
        found = scaled.minimise(self.H, self.g)
        if found is None:
            return None
        (s, mu), two = found, j >= 0
        lam = np.zeros(self.f.size)
        lam[i] = np.maximum(mu, 0.0) / lengths
        lam[j[two]] = np.maximum(-mu[two], 0.0) / lengths[two]
        return Answer(s, lam)

    def with_model(self, H: np.ndarray, g: np.ndarray) -> Self:
        """Return the program with another model, in the units of this one: its rows are ready for it."""
        changed = replace(self, H=H, g=g)
        changed.__dict__["_paired"] = self._paired
        return changed

    @cached_property
    def _paired(self) -> tuple[ScaledRows, np.ndarray, np.ndarray, np.ndarray] | None:
        """The rows of `solve`, the functions i and j that each is made of, and its length.

        None where they exclude each other.
        """
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
        return ScaledRows.of(self.rows, unit, A, low, high), i, j, lengths[i]

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
        high = -self.f[used] / lengths[used]
        found = ScaledRows.of(self.rows, wide, A, free, high, bounds).minimise(H, g)
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
