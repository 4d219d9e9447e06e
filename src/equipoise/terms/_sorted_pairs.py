"""Sums over pairs of a quadratic, or of the half of one, from moments of the scores."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from equipoise.terms._pair_point import PairPoint, Rows


@final
class QuadraticPairs(PairPoint):
    """The sums of ``c1 (c2 - t)^2`` over pairs; only over those with ``t < c2``, unless `everywhere`.

    For each row of one atom the rows of another that count are the last ones in the order of the scores,
    so that all sums are differences of running sums.
    """

    def __init__(self, rows: Rows, c1: float, c2: float, *, everywhere: bool) -> None:
        self._c1, self._c2, self._n, self._atoms = c1, c2, rows.scores.size, range(rows.count)
        centre = 0.5 * (rows.scores.min(initial=0.0) + rows.scores.max(initial=0.0))
        self._members = [np.flatnonzero(rows.atoms == a) for a in self._atoms]
        if not everywhere:
            self._members = [m[np.argsort(rows.scores[m], kind="stable")] for m in self._members]
        self._s = [rows.scores[m] - centre for m in self._members]
        self._w = [rows.weight[m] for m in self._members]
        self._everywhere = everywhere
        self.values = self._matrix(self._value)

    def _later(self, p: int, q: int, x: np.ndarray) -> np.ndarray:
        """Return, for each row i of p, the sum of `x` over the rows j of q with ``t_ij < c2``."""
        if self._everywhere:
            return np.full(self._s[p].size, x.sum())
        return _from(x, np.searchsorted(self._s[q], self._s[p] - self._c2, "right"))

    def _earlier(self, p: int, q: int, x: np.ndarray) -> np.ndarray:
        """Return, for each row j of q, the sum of `x` over the rows i of p with ``t_ij < c2``."""
        if self._everywhere:
            return np.full(self._s[q].size, x.sum())
        return x.sum() - _from(x, np.searchsorted(self._s[p], self._s[q] + self._c2, "left"))

    def _value(self, p: int, q: int) -> float:
        s, w = self._s[q], self._w[q]
        zeroth, first, second = (self._later(p, q, w * s**k) for k in range(3))
        apart = self._c2 - self._s[p]
        return self._c1 * float(self._w[p] @ (apart * (apart * zeroth + 2.0 * first) + second))

    def _slopes(self, p: int, q: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of ``M_pq`` with respect to the scores of p, and of q."""
        s, w = self._s, self._w
        later = [self._later(p, q, w[q] * s[q] ** k) for k in range(2)]
        earlier = [self._earlier(p, q, w[p] * s[p] ** k) for k in range(2)]
        of_p = -w[p] * ((self._c2 - s[p]) * later[0] + later[1])
        of_q = w[q] * ((self._c2 + s[q]) * earlier[0] - earlier[1])
        return 2.0 * self._c1 * of_p, 2.0 * self._c1 * of_q

    def slope(self, U: np.ndarray) -> np.ndarray:
        """Return the derivative (n,)."""
        return self._gathered(U, self._slopes)

    def push(self, d: np.ndarray) -> np.ndarray:
        """Return the change of M."""
        own = [d[m] for m in self._members]

        def change(p: int, q: int) -> float:
            of_p, of_q = self._slopes(p, q)
            return float(of_p @ own[p] + of_q @ own[q])

        return self._matrix(change)

    def bend(self, U: np.ndarray) -> np.ndarray:
        """Return the second derivative with respect to each score."""

        def counted(p: int, q: int) -> tuple[np.ndarray, np.ndarray]:
            w, twice = self._w, 2.0 * self._c1
            of_p, of_q = self._later(p, q, w[q]), self._earlier(p, q, w[p])
            return twice * w[p] * of_p, twice * w[q] * of_q

        return self._gathered(U, counted)

    def curve(self, U: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Return the second derivative applied to a change of the scores."""
        own = [d[m] for m in self._members]

        def others(p: int, q: int) -> tuple[np.ndarray, np.ndarray]:
            w, twice = self._w, 2.0 * self._c1
            of_p = self._later(p, q, w[q] * own[q])
            of_q = self._earlier(p, q, w[p] * own[p])
            return twice * w[p] * of_p, twice * w[q] * of_q

        return self.bend(U) * d - self._gathered(U, others)

    def _matrix(self, entry: Any) -> np.ndarray:
        size = len(self._atoms)
        found = [[entry(p, q) for q in self._atoms] for p in self._atoms]
        return np.array(found).reshape(size, size)

    def _gathered(self, U: np.ndarray, parts: Any) -> np.ndarray:
        """Return the weighted sum over all p, q of what each gives to its rows, (n,)."""
        found = np.zeros(self._n)
        for p, q in zip(*np.nonzero(U)):
            of_p, of_q = parts(p, q)
            found[self._members[p]] += U[p, q] * of_p
            found[self._members[q]] += U[p, q] * of_q
        return found


def _from(x: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the sums of `x` from each start to the end."""
    return np.concatenate((np.cumsum(x[::-1])[::-1], [0.0]))[start]
