"""Rows on a lattice: histograms spread over nodes, and splines read at the scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import final

import numpy as np
from scipy import sparse
from scipy.interpolate import BSpline, PPoly

from equipoise._array import Array, counted, is_tensor, like, namespace, to_numpy
from equipoise.terms._pair_point import ROWS_AT_A_TIME, PairedRows

DEGREE = 5
# Cells of scores without large gaps between them; with more, empty stretches are left out. Chosen:
# a histogram of this length still costs less than a pass over 10,000 rows.
CELLS_WITHOUT_A_LOOK = 1 << 15
# The powers of at most this many rows are kept for the next histogram at the same scores, in 6 MB; those of
# more rows leave the cache in between, and are as quickly made again. Chosen.
KEPT_ROWS = 1 << 17


@final
class LatticeCells:
    """The lattice cells of rows, and the position of each row in its cell, where the rows are.

    Where scores are far apart, stretches of the lattice without rows are shortened to the reach of the
    function, beyond which it is a constant or a line: the sums over pairs then differ by what
    `far_shifts` returns.

    Parameters
    ----------
    rows : PairedRows
    h : float
        The distance of two nodes.
    reach : int
        In cells.
    """

    def __init__(self, rows: PairedRows, h: float, reach: int) -> None:
        self.h, self._rows = h, rows
        self._xp = xp = namespace(rows.scores)
        z = rows.scores / h
        floor = xp.floor(z)
        self._t, self._n = z - floor, int(floor.shape[0])
        low, high = (float(floor.min()), float(floor.max())) if self._n else (0.0, 0.0)
        self._shortened: tuple[Array, np.ndarray] | None = None
        if high - low < CELLS_WITHOUT_A_LOOK:
            cells, last = like(floor - low, rows.atoms), int(high - low)
        else:
            cells, last = self._shorten(floor, reach)
        self.n_cells = last + 1
        self.nodes = self.n_cells + DEGREE
        self._keys = cells + self.n_cells * rows.atoms
        self._kept: list[tuple[slice, sparse.csc_array, np.ndarray]] | None = None

    def _shorten(self, floor: Array, reach: int) -> tuple[Array, int]:
        """Number the cells with empty stretches shortened, up to the last; note where, and by how much."""
        occupied, place = self._xp.unique_inverse(floor)
        gaps = np.diff(to_numpy(occupied))
        kept = np.minimum(gaps, reach + 2 * DEGREE)
        cells = np.concatenate(([0.0], np.cumsum(kept)))
        part = np.concatenate(([0], np.cumsum(gaps > kept)))
        lost = np.concatenate(([0.0], np.cumsum(gaps - kept)))
        first = np.flatnonzero(np.diff(part, prepend=-1))
        self._shortened = like(part, place)[place], self.h * lost[first]
        return like(cells, place)[place], int(cells[-1])

    def histograms(self, weight: Array, derivative: int = 0) -> np.ndarray:
        """Return ``sum_i weight_i beta(s_i / h - k)`` for every atom and node, (A, nodes).

        With `derivative` 1: of the derivative of beta with respect to the score.
        """
        A, cells = self._rows.count, self.n_cells
        moments = self._moments(weight)[: DEGREE + 1 - derivative]
        shares = (_pieces(derivative) @ moments).reshape(-1, A, cells)
        nodes = np.zeros((A, self.nodes))
        for j in range(DEGREE + 1):
            nodes[:, j : j + cells] += shares[j]
        return nodes / self.h**derivative

    def _moments(self, weight: Array) -> np.ndarray:
        """Return ``sum_i weight_i t_i^k`` over the rows of each cell, k from 0 to 5, (6, A cells)."""
        size = self._rows.count * self.n_cells
        if is_tensor(self._t):
            power, sums = self._xp.ones_like(self._t), []
            for _ in range(DEGREE + 1):
                sums.append(counted(self._keys, weight * power, size))
                power = power * self._t
            return np.array(sums)
        total = np.zeros((size, DEGREE + 1))
        for own, cells_of_rows, powers_of_rows in self._powers():
            cells_of_rows.data = weight[own]
            total += cells_of_rows @ powers_of_rows  # all powers in one pass over the rows
        return total.T

    def _powers(self) -> Iterable[tuple[slice, sparse.csc_array, np.ndarray]]:
        """Return rows with a matrix that has a column for each, an entry in its cell, and ``t_i^k``."""
        if self._kept is not None:
            return self._kept
        made = (self._powers_of(own) for own in self._chunks())
        if self._n > KEPT_ROWS:
            return made
        self._kept = list(made)
        return self._kept

    def _powers_of(self, own: slice) -> tuple[slice, sparse.csc_array, np.ndarray]:
        keys, t = self._keys[own], self._t[own]
        powers = np.ones((t.size, DEGREE + 1))
        for k in range(DEGREE):
            np.multiply(powers[:, k], t, out=powers[:, k + 1])
        entries = np.ones(t.size), keys, np.arange(t.size + 1)
        shape = self._rows.count * self.n_cells, t.size
        return own, sparse.csc_array(entries, shape=shape), powers

    def read(self, nodes: np.ndarray, derivative: int) -> Array:
        """Return, at every row's score, a derivative of the spline that its atom's nodes define."""
        cells = self.n_cells
        windows = np.stack([nodes[:, j : j + cells].ravel() for j in range(DEGREE + 1)])
        table = like((_pieces(derivative).T / self.h**derivative) @ windows, self._t)
        found, take = self._xp.empty_like(self._t), self._xp.take
        for own in self._chunks():
            keys, t = self._keys[own], self._t[own]
            value = take(table[DEGREE - derivative], keys)
            for k in range(DEGREE - derivative - 1, -1, -1):
                value *= t
                value += take(table[k], keys)
            found[own] = value
        return found

    def _chunks(self) -> Iterator[slice]:
        """Yield which rows are taken together."""
        length = max(1, self._n) if is_tensor(self._t) else ROWS_AT_A_TIME
        return (slice(start, start + length) for start in range(0, self._n, length))

    def far_shifts(self, weight: Array) -> np.ndarray:
        """Return what shortening took from the differences below 0, summed over pairs, (A, A)."""
        A = self._rows.count
        if self._shortened is None:
            return np.zeros((A, A))
        part, lost = self._shortened
        keys = part + lost.size * self._rows.atoms
        mass = counted(keys, weight, A * lost.size).reshape(A, lost.size)
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
