"""Sums over listed pairs of rows, as rankings within queries need them."""

from __future__ import annotations

from typing import Any, final

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise._array import Array, like, to_numpy
from equipoise.terms._score_sum import ScoreSum, ScoreSumPoint, SumBounds
from equipoise.terms._scores import Scores


@final
class ListedPairs(ScoreSum):
    """Sums of functions of score differences ``s_i - s_j``, over a list of P pairs (i, j) of rows.

    The differences are the scores of other sums, whose rows are the pairs. One evaluation costs P; for all
    pairs of two large subsets `PairSums` costs less.

    Parameters
    ----------
    sums : ScoreSum
        Of the differences; over P rows.
    above, below : integer arrays of shape (P,)
        The rows i, and the rows j.
    n_rows : int

    Examples
    --------
    The share of two pairs in which the first row has the higher score.

    >>> import numpy as np
    >>> from equipoise.terms import ListedPairs, Rates, Sigmoid
    >>> right = ListedPairs(Rates(Sigmoid(), [[0.5], [0.5]]), above=[0, 0], below=[1, 2], n_rows=3)
    >>> right.values(np.array([1.0, 0.0, 2.0])).round(3)
    array([0.5])
    """

    additive = False

    def __init__(self, sums: ScoreSum, above: Any, below: Any, n_rows: int) -> None:
        owner = "ListedPairs"
        self.sums = _check.kind(owner, "sums", sums, ScoreSum)
        self.n_rows = _check.count(owner, "n_rows", n_rows, least=1)
        self._above = _check.integers(owner, "above", above, self.n_rows)
        self._below = _check.integers(owner, "below", below, self.n_rows)
        for name, side in (("above", self._above), ("below", self._below)):
            if side.shape != (sums.n_rows,):
                _check.fail(owner, name, f"must have shape ({sums.n_rows},)", side.shape)
        self.size, self.smooth = sums.size, sums.smooth
        places = np.arange(sums.n_rows)
        entries = np.repeat([1.0, -1.0], sums.n_rows)
        where = np.tile(places, 2), np.concatenate((self._above, self._below))
        self._difference = sparse.csr_array((entries, where), shape=(sums.n_rows, self.n_rows))

    def at(self, scores: Scores) -> ScoreSumPoint:
        """Evaluate the sums."""
        s, D = scores.s, self._difference
        found = self.sums.at(Scores(self._apart(s)))
        bend, curve, columns = found.bend, found.curve, found.columns
        return ScoreSumPoint(
            found.values,
            lambda u: like(D.T @ found.slope(u), s),
            lambda d: found.push(self._apart(d)),
            None if columns is None else lambda index: D.T @ columns(index),
            None if bend is None else lambda u: like(abs(D).T @ bend(u), s),
            None if curve is None else lambda u, d: like(D.T @ curve(u, self._apart(d)), s),
        )

    def thresholded(self, scores: Scores) -> np.ndarray:
        """Return the sums of what the functions stand for: of pairs in the right order; ties are not."""
        return self.sums.thresholded(Scores(self._apart(scores.s)))

    def rows(self, index: np.ndarray, scale: float) -> ListedPairs:
        """Return the sums over the pairs of which both rows are there; both are scaled."""
        number = np.full(self.n_rows, -1)
        number[index] = np.arange(len(index))
        above, below = number[self._above], number[self._below]
        kept = np.flatnonzero((above >= 0) & (below >= 0))
        return ListedPairs(self.sums.rows(kept, scale**2), above[kept], below[kept], len(index))

    def bounds(self, lengths: np.ndarray | None) -> SumBounds:
        """Return constants: the gradient of a difference is no longer than those of both scores together."""
        return self.sums.bounds(None if lengths is None else abs(self._difference) @ lengths)

    @property
    def used(self) -> np.ndarray:
        """Which rows are in a pair that counts."""
        return np.asarray(abs(self._difference).T @ self.sums.used.astype(float)) > 0.0

    @property
    def uses_threshold(self) -> bool:
        """Differences of scores do not depend on it."""
        return False

    @property
    def is_smooth(self) -> np.ndarray:
        """Which of the sums have a Lipschitz gradient."""
        return self.sums.is_smooth

    def sharpened(self, k: float) -> ListedPairs:
        """Return the sums with sharper sigmoids."""
        return self._with(self.sums.sharpened(k))

    def smoothed(self, width: float) -> ListedPairs:
        """Return the sums with kinks rounded."""
        return self._with(self.sums.smoothed(width))

    def _with(self, sums: ScoreSum) -> ListedPairs:
        """Return other sums over the same pairs."""
        return ListedPairs(sums, self._above, self._below, self.n_rows)

    def _apart(self, s: Array) -> np.ndarray:
        """Return the differences (P,); those of tensors are formed on the host."""
        if tuple(s.shape) != (self.n_rows,):
            rule = f"must have shape ({self.n_rows},)"
            _check.fail("ListedPairs", "scores", rule, tuple(s.shape))
        return self._difference @ to_numpy(s)
