"""Means over all pairs of rows of two subsets: AUCs, their smooth stand-ins, and pairwise losses."""

from __future__ import annotations

from copy import copy
from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise._array import Array, counted, in_double, is_tensor, like, namespace, placed
from equipoise._problem import NonFiniteError
from equipoise.terms._pair_functions import PairFunction
from equipoise.terms._pair_point import PairedRows
from equipoise.terms._ranks import wins
from equipoise.terms._score_sum import ScoreSum, ScoreSumPoint, SumBounds
from equipoise.terms._scores import Scores


@final
class PairSums(ScoreSum):
    r"""R means ``sum_ij a_i b_j phi(s_i - s_j)`` over the pairs of rows of two subsets.

    No pair is formed: smooth functions cost O(n) (see `terms/_lattice.py`), so do squared
    hinges of many rows (`terms/_cell_pairs.py`); counting costs O(n log n), and they do for few rows.

    Parameters
    ----------
    function : PairFunction
    atoms : integer array of shape (n,)
        Which of A disjoint atoms each row belongs to; -1 for none. Subsets are unions of atoms.
    weight : array of shape (n,)
    above, below : arrays of shape (A, R)
        In mean r, a row i of atom p has the weights ``a_i = weight_i above_pr``, ``b_i = weight_i below_pr``.

    Examples
    --------
    >>> import numpy as np
    >>> from equipoise.terms import PairSums, SigmoidPair
    >>> auc = PairSums(SigmoidPair(), [0, 0, 1], np.ones(3), above=[[0.5], [0.0]], below=[[0.0], [1.0]])
    >>> auc.values(np.array([2.0, -1.0, 0.0])).round(4)
    array([0.5749])
    """

    smooth = True
    additive = False

    def __init__(
        self, function: PairFunction, atoms: Any, weight: Any, above: Any, below: Any
    ) -> None:
        owner = "PairSums"
        _check.kind(owner, "function", function, PairFunction)
        self.function = function
        self._above = _shares("above", _check.matrix(owner, "above", above, "A", "R"))
        self._count, self.size = self._above.shape
        self._below = _shares("below", _check.matrix(owner, "below", below, *self._above.shape))
        codes = _check.integers(owner, "atoms", atoms, self._count, least=-1)
        self.n_rows = codes.size
        inside = codes >= 0
        # a slice copies nothing
        index: Any = slice(None) if inside.all() else np.flatnonzero(inside)
        weight = _check.vector(owner, "weight", weight, self.n_rows)
        self._members = _Members(index, weight[index], codes[index])
        self._pairs = self._above @ self._below.T > 0
        self._moments: list[Any] = []

    def at(self, scores: Scores) -> ScoreSumPoint:
        """Evaluate the means."""
        s, xp = scores.s, namespace(scores.s)
        index = self._members.beside(s).index
        found = self.function.over(self._placed(scores))

        def spread(values: Array) -> Array:
            answer = xp.zeros_like(s)
            answer[index] = like(values, s)
            return answer

        def change(d: Array) -> Array:
            return in_double(d)[index]

        def columns(which: np.ndarray) -> Array:
            units = np.eye(self.size)[np.asarray(which)]
            each = [spread(found.slope(self._weights(u)))[:, None] for u in units]
            return xp.concat([like(np.empty((self.n_rows, 0)), s), *each], axis=1)

        return ScoreSumPoint(
            self._means(found.values),
            lambda u: spread(found.slope(self._weights(u))),
            lambda d: self._means(found.push(change(d))),
            columns,
            lambda u: spread(found.bend(self._weights(u))),
            lambda u, d: spread(found.curve(self._weights(u), change(d))),
        )

    def thresholded(self, scores: Scores) -> np.ndarray:
        """Return the means of what the function stands for: AUCs, with ties counted as one half."""
        rows = self._placed(scores)
        counted = wins(rows) if self.function.counts else self.function.over(rows).values
        return self._means(counted)

    def rows(self, index: np.ndarray, scale: float) -> PairSums:
        """Return the means over the pairs of some rows; both rows of a pair are scaled."""
        own = self._members
        atoms, weight = np.full(self.n_rows, -1), np.zeros(self.n_rows)
        atoms[own.index], weight[own.index] = own.atoms, scale * own.weight
        return PairSums(self.function, atoms[index], weight[index], self._above, self._below)

    def sharpened(self, k: float) -> PairSums:
        """Return the means of the function with sharpness `k`."""
        changed = copy(self)
        changed.function = self.function.sharpened(k)
        return changed

    def bounds(self, lengths: Array | None) -> SumBounds:
        r"""Return constants for scores ``<a_j, x>`` with ``|a_j| = lengths_j``.

        The gradient of one pair is ``phi'(t) (a_i - a_j)``, no longer than both lengths together;
        its second derivative at most ``2 |phi''| (|a_i|^2 + |a_j|^2)``.
        """
        low, high = self.function.range
        mass, *moments = self._moments_of(lengths)
        least, largest = low * mass[0] * mass[1], np.minimum(high, 1e300) * mass[0] * mass[1]
        largest = np.where(np.isfinite(high), largest, np.inf)
        if lengths is None:
            return SumBounds.between(least, largest)
        first, second = moments
        slope = self.function.lipschitz * (first[0] * mass[1] + mass[0] * first[1])
        squares = 2.0 * (second[0] * mass[1] + mass[0] * second[1])
        lowest, highest = self.function.curvatures
        return SumBounds(
            slope, max(0.0, -lowest) * squares, max(0.0, highest) * squares, least, largest
        )

    def _moments_of(self, lengths: Array | None) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the sums of ``a_i`` and ``b_i``, and of these times the lengths and their squares.

        They are remembered for the same array: sharper functions ask for the same.
        """
        if not self._moments or self._moments[0] is not lengths:
            powers = [np.ones(self.n_rows)]
            powers += [] if lengths is None else [in_double(lengths), in_double(lengths) ** 2]
            self._moments[:] = [lengths, [self._sums_of(power) for power in powers]]
        return self._moments[1]

    def _sums_of(self, x: Array) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of ``a_i x_i`` and of ``b_i x_i``, (R,) each."""
        members = self._members.beside(x)
        sums = counted(members.atoms, members.weight * x[members.index], self._count)
        return sums @ self._above, sums @ self._below

    @property
    def uses_threshold(self) -> bool:
        """Differences of scores do not depend on it."""
        return False

    @property
    def used(self) -> np.ndarray:
        """Which rows are in some subset."""
        answer = np.zeros(self.n_rows, dtype=bool)
        answer[self._members.index] = True
        return answer

    @property
    def largest(self) -> np.ndarray:
        """The most that one pair adds to each mean: two rows that change places."""
        heaviest = np.zeros(self._count)
        np.maximum.at(heaviest, self._members.atoms, self._members.weight)
        shares = [(heaviest[:, None] * side).max(axis=0) for side in (self._above, self._below)]
        return shares[0] * shares[1]

    def _placed(self, scores: Scores) -> PairedRows:
        if tuple(scores.shape) != (self.n_rows,):
            _check.fail("PairSums", "scores", f"must have shape ({self.n_rows},)", scores.shape)
        members = self._members.beside(scores.s)
        own = in_double(scores.s)[members.index]
        if not bool(namespace(own).isfinite(own).all()):
            raise NonFiniteError("PairSums: a score is not finite.")
        return PairedRows(own, members.weight, members.atoms, self._count, self._pairs)

    def _means(self, M: np.ndarray) -> np.ndarray:
        """Return the means (R,) from sums over the pairs of atoms, (A, A)."""
        return np.einsum("pr,pq,qr->r", self._above, M, self._below)

    def _weights(self, u: np.ndarray) -> np.ndarray:
        """Return the weights of the atoms' pairs in ``u . means``, (A, A)."""
        return (self._above * np.asarray(u)) @ self._below.T


class _Members:
    """The rows that are in some atom; on another device they are kept there once they were asked for.

    Attributes
    ----------
    index : slice or array or tensor of shape (k,)
        Which rows.
    weight : array or tensor of shape (k,)
    atoms : array or tensor of shape (k,)
    """

    def __init__(self, index: Any, weight: Array, atoms: Array) -> None:
        self.index, self.weight, self.atoms = index, weight, atoms
        self._elsewhere: dict[Any, _Members] = {}

    def beside(self, scores: Array) -> _Members:
        """Return the same where these scores are."""
        if not is_tensor(scores):
            return self
        if scores.device not in self._elsewhere:
            weight = namespace(scores).asarray(self.weight, device=scores.device)
            index = self.index if isinstance(self.index, slice) else placed(self.index, scores)
            atoms = placed(self.atoms, scores)
            self._elsewhere[scores.device] = _Members(index, weight, atoms)
        return self._elsewhere[scores.device]


def _shares(name: str, given: np.ndarray) -> np.ndarray:
    if (given < 0).any():
        _check.fail("PairSums", name, "must be non-negative", given.min())
    return given
