"""Rows on a lattice: histograms spread over nodes, and splines read at the scores."""

from __future__ import annotations

from functools import cache
from typing import final

import numpy as np
from scipy.interpolate import BSpline, PPoly

from equipoise.terms._pair_point import Rows

DEGREE = 5
# Cells of scores without large gaps between them; with more, empty stretches are left out. Chosen:
# a histogram of this length still costs less than a pass over 10,000 rows.
CELLS_WITHOUT_A_LOOK = 1 << 15
CHUNK = 1 << 15  # rows at a time, so that what is computed of them stays in the cache


@final
class LatticeCells:
    """The lattice cells of rows, and the position of each row in its cell.

    Where scores are far apart, stretches of the lattice without rows are shortened to the reach of the
    function, beyond which it is a constant or a line: the sums over pairs then differ by what
    `far_shifts` returns.

    Parameters
    ----------
    rows : Rows
    h : float
        The distance of two nodes.
    reach : int
        In cells.
    """

    def __init__(self, rows: Rows, h: float, reach: int) -> None:
        self.h, self._rows = h, rows
        z = rows.scores / h
        floor = np.floor(z)
        self._t = z - floor
        low, high = (float(floor.min()), float(floor.max())) if floor.size else (0.0, 0.0)
        self._shortened: tuple[np.ndarray, np.ndarray] | None = None
        if high - low < CELLS_WITHOUT_A_LOOK:
            cells = (floor - low).astype(np.intp)
        else:
            cells = self._shorten(floor, reach)
        self.n_cells = int(cells.max(initial=0)) + 1
        self.nodes = self.n_cells + DEGREE
        self._keys = cells + self.n_cells * rows.atoms

    def _shorten(self, floor: np.ndarray, reach: int) -> np.ndarray:
        """Number the cells with empty stretches shortened; note where, and by how much."""
        occupied, place = np.unique(floor, return_inverse=True)
        gaps = np.diff(occupied)
        kept = np.minimum(gaps, reach + 2 * DEGREE)
        cells = np.concatenate(([0.0], np.cumsum(kept)))
        part = np.concatenate(([0], np.cumsum(gaps > kept)))
        lost = np.concatenate(([0.0], np.cumsum(gaps - kept)))
        first = np.flatnonzero(np.diff(part, prepend=-1))
        self._shortened = part[place], self.h * lost[first]
        return cells.astype(np.intp)[place]

    def histograms(self, weight: np.ndarray, derivative: int = 0) -> np.ndarray:
        """Return ``sum_i weight_i beta(s_i / h - k)`` for every atom and node, (A, nodes).

        With `derivative` 1: of the derivative of beta with respect to the score.
        """
        A, cells = self._rows.count, self.n_cells
        moments = np.zeros((DEGREE + 1 - derivative, A * cells))
        for start in range(0, weight.size, CHUNK):
            own = slice(start, start + CHUNK)
            keys, t, power = self._keys[own], self._t[own], weight[own]
            for k in range(len(moments)):
                moments[k] += np.bincount(keys, power, minlength=A * cells)
                power = power * t
        shares = (_pieces(derivative) @ moments).reshape(-1, A, cells)
        nodes = np.zeros((A, self.nodes))
        for j in range(DEGREE + 1):
            nodes[:, j : j + cells] += shares[j]
        return nodes / self.h**derivative

    def read(self, nodes: np.ndarray, derivative: int) -> np.ndarray:
        """Return, at every row's score, a derivative of the spline that its atom's nodes define."""
        cells = self.n_cells
        windows = np.stack([nodes[:, j : j + cells].ravel() for j in range(DEGREE + 1)])
        table = (_pieces(derivative).T / self.h**derivative) @ windows
        found = np.empty(self._t.size)
        for start in range(0, found.size, CHUNK):
            own = slice(start, start + CHUNK)
            keys, t = self._keys[own], self._t[own]
            value = table[-1].take(keys)
            for row in table[-2::-1]:
                value *= t
                value += row.take(keys)
            found[own] = value
        return found

    def far_shifts(self, weight: np.ndarray) -> np.ndarray:
        """Return what shortening took from the differences below 0, summed over pairs, (A, A)."""
        A = self._rows.count
        if self._shortened is None:
            return np.zeros((A, A))
        part, lost = self._shortened
        keys = part + lost.size * self._rows.atoms
        mass = np.bincount(keys, weight, minlength=A * lost.size).reshape(A, lost.size)
        # pairs with the first row in a lower part: the sum of w_i w_j (lost_i - lost_j)
        before, moved = np.cumsum(mass, axis=1), np.cumsum(mass * lost, axis=1)
        below = np.pad(before, ((0, 0), (1, 0)))[:, :-1], np.pad(moved, ((0, 0), (1, 0)))[:, :-1]
        return below[1] @ mass.T - below[0] @ (mass * lost).T


@cache
def _pieces(derivative: int) -> np.ndarray:
    """Return the share of each of six nodes as a polynomial of the position in a cell, (6, degree + 1).

    Row j is for the node ``cell + j - 2``; coefficients of ascending powers.
    """
    spline = PPoly.from_spline(BSpline.basis_element(np.arange(DEGREE + 2)))
    if derivative:
        spline = spline.derivative(derivative)
    inside = [spline.c[::-1, np.flatnonzero(spline.x == k)[0]] for k in range(DEGREE + 1)]
    return np.array(inside[::-1])
