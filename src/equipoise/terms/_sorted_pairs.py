"""Sums over pairs of a quadratic, or of the half of one, from moments of the scores."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from equipoise._array import Array, counted_there, namespace
from equipoise.terms._pair_point import PairedRows, PairPoint


@final
class QuadraticPairs(PairPoint):
    """The sums of ``c1 (c2 - t)^2`` over pairs; only over those with ``t < c2``, unless `everywhere`.

    For each row of one atom the rows of another that count are the last ones in the order of the scores,
    so that all sums are differences of running sums.
    """

    def __init__(self, rows: PairedRows, c1: float, c2: float, *, everywhere: bool) -> None:
        self._c1, self._c2, self._atoms = c1, c2, range(rows.count)
        self._xp, self._scores = namespace(rows.scores), rows.scores
        s = rows.scores
        centre = 0.5 * (float(s.min()) + float(s.max())) if s.shape[0] else 0.0
        self._members = [self._xp.nonzero(rows.atoms == a)[0] for a in self._atoms]
        self._s = [s[m] - centre for m in self._members]
        if not everywhere:
            orders = [self._xp.argsort(own) for own in self._s]
            self._members = [m[order] for m, order in zip(self._members, orders)]
            self._s = [own[order] for own, order in zip(self._s, orders)]
        self._w = [rows.weight[m] for m in self._members]
        self._everywhere = everywhere
        A = rows.count
        self._pairs = np.ones((A, A), dtype=bool) if rows.pairs is None else rows.pairs
        self._known: dict[tuple[int, int], tuple[Array, Array, Array]] = {}
        self.values = self._matrix(self._value)

    def _below(self, p: int, q: int) -> tuple[Array, Array, Array]:
        """Return, for each row i of p, the first row of q with ``t_ij < c2``, and what those weigh.

        Their weights, and these times the scores, are summed; all is remembered.
        """
        if (p, q) not in self._known:
            first, w = self._scores, self._w[q]
            if not self._everywhere:
                first = self._xp.searchsorted(self._s[q], self._s[p] - self._c2, side="right")
            self._known[p, q] = (
                first,
                self._later(first, w),
                self._later(first, w * self._s[q]),
            )
        return self._known[p, q]

    def _later(self, first: Array, x: Array) -> Array:
        """Return, for each row of an atom, the sum of `x` over the rows of another from the first on."""
        if self._everywhere:
            return x.sum()
        zero = self._xp.zeros_like(self._scores[:1])
        running = self._xp.concat((self._xp.flip(x, axis=0).cumsum(0), zero))
        return running[x.shape[0] - 1 - first]

    def _earlier(self, first: Array, x: Array, count: int) -> Array:
        """Return, for each of `count` rows of an atom, the sum of `x` over those that begin before it."""
        if self._everywhere:
            return x.sum()
        return counted_there(first, x, count + 1).cumsum(0)[:count]

    def _value(self, p: int, q: int) -> float:
        s, w = self._s[q], self._w[q]
        first, weight, moment = self._below(p, q)
        apart = self._c2 - self._s[p]
        total = apart * (apart * weight + 2.0 * moment) + self._later(first, w * s * s)
        return self._c1 * float(self._w[p] @ total)

    def _slopes(self, p: int, q: int) -> tuple[Array, Array]:
        """Return the derivatives of ``M_pq`` with respect to the scores of p, and of q."""
        s, w, twice = self._s, self._w, 2.0 * self._c1
        first, weight, moment = self._below(p, q)
        above = [self._earlier(first, x, w[q].shape[0]) for x in (w[p], w[p] * s[p])]
        of_p = (-twice * w[p]) * ((self._c2 - s[p]) * weight + moment)
        of_q = (twice * w[q]) * ((self._c2 + s[q]) * above[0] - above[1])
        return of_p, of_q

    def slope(self, U: np.ndarray) -> Array:
        """Return the derivative (n,)."""
        return self._gathered(U, self._slopes)

    def push(self, d: Array) -> np.ndarray:
        """Return the change of M."""
        own = [d[m] for m in self._members]

        def change(p: int, q: int) -> float:
            of_p, of_q = self._slopes(p, q)
            return float(of_p @ own[p] + of_q @ own[q])

        return self._matrix(change)

    def bend(self, U: np.ndarray) -> Array:
        """Return the second derivative with respect to each score."""

        def counted(p: int, q: int) -> tuple[Array, Array]:
            first, weight, _ = self._below(p, q)
            w, twice = self._w, 2.0 * self._c1
            of_q = self._earlier(first, w[p], w[q].shape[0])
            return twice * w[p] * weight, twice * w[q] * of_q

        return self._gathered(U, counted)

    def curve(self, U: np.ndarray, d: Array) -> Array:
        """Return the second derivative applied to a change of the scores."""
        own = [d[m] for m in self._members]

        def changed(p: int, q: int) -> tuple[Array, Array]:
            first, weight, _ = self._below(p, q)
            w, twice, n = self._w, 2.0 * self._c1, self._w[q].shape[0]
            of_p = own[p] * weight - self._later(first, w[q] * own[q])
            of_q = own[q] * self._earlier(first, w[p], n)
            of_q -= self._earlier(first, w[p] * own[p], n)
            return twice * w[p] * of_p, twice * w[q] * of_q

        return self._gathered(U, changed)

    def _matrix(self, entry: Any) -> np.ndarray:
        found = np.zeros(self._pairs.shape)
        for p, q in zip(*np.nonzero(self._pairs)):
            found[p, q] = entry(p, q)
        return found

    def _gathered(self, U: np.ndarray, parts: Any) -> Array:
        """Return the weighted sum over all p, q of what each gives to its rows, (n,)."""
        totals: list[Any] = [0.0] * len(self._members)
        for p, q in zip(*np.nonzero(U)):
            for atom, part in zip((p, q), parts(p, q)):
                totals[atom] = totals[atom] + float(U[p, q]) * part
        found = self._xp.zeros_like(self._scores)
        for members, total in zip(self._members, totals):
            found[members] = total
        return found
