r"""Sums over pairs of a squared hinge, for many rows: moments of the scores in narrow cells.

The cells have the width :math:`h = c / m` for the margin c and an integer m. Then the pairs with
:math:`s_i - s_j < c` are, whole cells at a time, those whose first row lies fewer than m cells above the
second, and only those exactly m cells apart are undecided. They count half of their square, which is wrong
by at most :math:`h^2 / 2` for a pair, and its slope by h. Nothing is sorted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import numpy as np

from equipoise._array import Array, counted, is_tensor, like, namespace
from equipoise.terms._pair_point import ROWS_AT_A_TIME, PairedRows, PairPoint
from equipoise.terms._sorted_pairs import QuadraticPairs

# Fewer rows than this are sorted in less time than this many cells are added up. Measured.
ROWS_IN_CELLS = 200_000
CELLS = 1 << 15  # the most; chosen: the tables of a few atoms fit into the cache of one core
# What undecided pairs may add to the slopes of a sum, and rounding to its value, relative to them; with more
# the scores are sorted. Undecided pairs add a smaller part to the value. Chosen.
SLOPES_OFF = 1e-7
VALUES_OFF = 1e-9


def squared_hinges(rows: PairedRows, margin: float) -> PairPoint:
    """Return the sums of ``max(0, margin - t)^2`` over pairs: in cells where these are right, else sorted."""
    s = rows.scores
    if s.shape[0] >= ROWS_IN_CELLS and float(s.max()) - float(s.min()) < CELLS * margin:
        found = CellPairs(rows, margin)
        if found.trusted:
            return found
    return QuadraticPairs(rows, 1.0, margin, everywhere=False)


@final
class CellPairs(PairPoint):
    """The sums of squared hinges over pairs, with values and slopes from cells.

    Second derivatives jump at the kink, so that undecided pairs would be half in them: these come from
    sorted scores.

    Attributes
    ----------
    trusted : bool
        Whether undecided pairs and rounding change nothing that matters.
    """

    def __init__(self, rows: PairedRows, margin: float) -> None:
        self._rows, self._margin = rows, margin
        self._sorted: QuadraticPairs | None = None
        s, A = rows.scores, rows.count
        low, high = float(s.min()), float(s.max())
        self._centre, spread = 0.5 * (low + high), high - low
        self._shift = max(1, int(CELLS / (1.0 + spread / margin)))  # m
        h = margin / self._shift
        self._cells = int(spread / h) + 1
        floor = namespace(s).floor((s - low) / h)
        self._keys = like(floor, rows.atoms) + self._cells * rows.atoms
        counts = np.zeros((3, A * self._cells))
        for own in self._chunks():
            keys, t, power = self._keys[own], s[own] - self._centre, rows.weight[own]
            for moment in counts:
                moment += counted(keys, power, A * self._cells)
                power = power * t
        self._moments = H = counts.reshape(3, A, self._cells)
        self._below = self._shifted_suffixes(H)
        w, (W, M, S) = H[0], self._below
        apart = margin * w - H[1]  # the sums of the margin less the score, and of its square
        square = margin * (margin * w - 2.0 * H[1]) + H[2]
        self.values = square @ W.T + 2.0 * apart @ M.T + w @ S.T
        undecided = h * (w[:, self._shift :] @ w[:, : -self._shift].T)
        mass = w.sum(axis=1)
        rounding = np.finfo(float).eps * (spread + margin) ** 2 * np.outer(mass, mass)
        right = undecided <= SLOPES_OFF * (apart @ W.T + w @ M.T)
        right &= rounding <= VALUES_OFF * self.values
        self.trusted = bool((right if rows.pairs is None else right | ~rows.pairs).all())

    def slope(self, U: np.ndarray) -> Array:
        """Return the derivative (n,): in every cell a linear function of the score."""
        W, M, _ = self._below
        V, N, _ = self._shifted_prefixes(self._moments)
        c = self._margin
        # as first rows -2 ((c - t) W + M), as second ones 2 ((c + t) V - N), with the centred score t
        constant = -2.0 * (U @ (c * W + M)) + 2.0 * (U.T @ (c * V - N))
        factor = 2.0 * (U @ W) + 2.0 * (U.T @ V)
        xp, s = namespace(self._rows.scores), self._rows.scores
        tables = [like(table.ravel(), s) for table in (constant, factor)]
        found = xp.empty_like(s)
        for own in self._chunks():
            keys = self._keys[own]
            value = xp.take(tables[1], keys)
            value *= s[own] - self._centre
            value += xp.take(tables[0], keys)
            value *= self._rows.weight[own]
            found[own] = value
        return found

    def push(self, d: Array) -> np.ndarray:
        """Return the change of M."""
        return self._exactly().push(d)

    def bend(self, U: np.ndarray) -> Array:
        """Return the second derivative with respect to each score."""
        return self._exactly().bend(U)

    def curve(self, U: np.ndarray, d: Array) -> Array:
        """Return the second derivative applied to a change of the scores."""
        return self._exactly().curve(U, d)

    def _exactly(self) -> QuadraticPairs:
        if self._sorted is None:
            self._sorted = QuadraticPairs(self._rows, 1.0, self._margin, everywhere=False)
        return self._sorted

    def _shifted_suffixes(self, H: np.ndarray) -> np.ndarray:
        """Return, for each cell k, the sums over the cells above ``k - m``, and half of that cell."""
        m = self._shift
        after = np.cumsum(H[..., ::-1], axis=-1)[..., ::-1]
        shifted = np.repeat(after[..., :1], self._cells, axis=-1)
        shifted[..., m:] = (after - 0.5 * H)[..., : max(0, self._cells - m)]
        return shifted

    def _shifted_prefixes(self, H: np.ndarray) -> np.ndarray:
        """Return, for each cell k, the sums over the cells below ``k + m``, and half of that cell."""
        return self._shifted_suffixes(H[..., ::-1])[..., ::-1]

    def _chunks(self) -> Iterator[slice]:
        """Yield which rows are taken together."""
        n = int(self._rows.scores.shape[0])
        length = max(1, n) if is_tensor(self._rows.scores) else ROWS_AT_A_TIME
        return (slice(start, start + length) for start in range(0, n, length))
