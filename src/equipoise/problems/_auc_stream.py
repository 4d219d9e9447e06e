"""AUC-fairness of rows that come one at a time, in any order (Yao, Lin & Yang 2023)."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Facts, Point, Problem, Saddle
from equipoise.models import LinearModel
from equipoise.problems._auc_fairness import BLOCKS, offsets_of, pairs_of
from equipoise.problems._auc_inputs import all_compared, bounded, reachable_bound, surrogate
from equipoise.problems._pair_functions import PairFunctions
from equipoise.problems._quadratic import QuadraticProblem
from equipoise.sets import Set


@final
class AUCStream(Problem):
    r"""The problem `AUCFairness` for a linear score, of all rows fed so far; none of them is kept.

    Every row moves running counts, means and second moments of positives and negatives of both groups, from
    which `at` computes the functions exactly: O(d^2) numbers in all. The min-max form, on which `SMD` and
    `SFLS` take their steps, is that of the latest row, an unbiased estimate up to the error of the
    running shares of subsets, for rows in random order. (Where one group comes first, `SFLS` lowers its
    level by what it saw of that group, and bounds can be missed: `Online.certificate` tells.) A pair of
    subsets counts as if its scores were equal until both were seen.

    Parameters
    ----------
    dim : int
        The length of a row; a column of ones is an intercept, which no AUC depends on.
    kind, kappa, c1, c2, domain : as in `AUCFairness`
    interval : float
        A bound on the mean scores of subsets and their differences, which cannot be computed beforehand:
        for ``|w| <= R`` and rows no longer than L, ``R L`` for the means and ``2 R L`` for all.
    counts : array of shape (4,), optional
        The rows of each kind, or their shares, where they are known beforehand, in place of running counts:
        negatives outside and inside the first group, positives outside and inside it.

    Examples
    --------
    >>> import numpy as np
    >>> from equipoise.problems import AUCStream
    >>> from equipoise.sets import L2Ball
    >>> stream = AUCStream(2, kind="group", kappa=0.1, domain=L2Ball(1.0), interval=2.0)
    >>> stream.feed([1.0, 0.0], positive=True, member=True)
    >>> stream.feed([0.0, 1.0], positive=False, member=False)
    >>> stream.at(np.array([1.0, 0.0])).values.round(3)
    array([ 0.  ,  1.65, -0.35])
    """

    def __init__(
        self,
        dim: int,
        *,
        kind: str = "inter",
        kappa: float = 0.05,
        c1: float = 0.5,
        c2: float = 1.0,
        domain: Set,
        interval: float,
        counts: Any = None,
    ) -> None:
        owner = "AUCStream"
        self.dim, self.n_constraints = _check.count(owner, "dim", dim, least=1), 2
        self.loss = surrogate(owner, c1, c2)
        self.kappa = reachable_bound(owner, kappa, self.loss)
        self._sides = pairs_of(owner, kind)
        self.domain = bounded(owner, domain, self.dim)
        self.interval = _check.positive(owner, "interval", interval)
        self.names = ("first AUC above second", "second AUC above first")
        self.facts = Facts(smooth=True, convex=True, convex_constraints=True, stochastic=True)
        self._known = None if counts is None else self._counted(counts)
        self.counts = np.zeros(4)
        self._first, self._second = np.zeros((4, dim)), np.zeros((4, dim, dim))
        self._row, self._atom = np.zeros((1, dim)), 0
        model = LinearModel(self._row, intercept=False)
        self._functions = PairFunctions(
            model, np.zeros((10, 1)), self.loss.c1, self.loss.c2, domain, self.interval
        )

    def feed(self, row: Any, positive: bool, member: bool) -> None:
        """Take in one row: its features, whether it is positive, and whether it is in the first group."""
        owner = "AUCStream.feed"
        row = np.array(
            _check.vector(owner, "row", row, self.dim)
        )  # its owner may write the next one there
        first = _check.flag(owner, "member", member)
        self._row, self._atom = row[None, :], 2 * _check.flag(owner, "positive", positive) + first
        self.counts[self._atom] += 1
        self._first[self._atom] += row
        self._second[self._atom] += np.outer(row, row)

    def at(self, x: Array) -> Point:
        """Evaluate the functions of all rows so far, from their moments."""
        c1, c2 = self.loss.c1, self.loss.c2
        weights = _weights(self._sides, self.counts)
        means = weights @ self._first
        spreads = (
            np.einsum("gp,pij->gij", weights, self._second) - means[:, :, None] * means[:, None]
        )
        J = len(means) // 2
        gaps = means[:J] - means[J:]
        P = 2 * c1 * (spreads[:J] + spreads[J:] + gaps[:, :, None] * gaps[:, None])
        sums = np.equal.outer(np.arange(3), BLOCKS).astype(float)
        return QuadraticProblem(
            np.einsum("ij,jkl->ikl", sums, P),
            -2 * c1 * c2 * sums @ gaps,
            c1 * c2**2 * sums.sum(axis=1) + offsets_of(self.kappa),
            self.domain,
        ).at(x)

    def saddle(self) -> Saddle:
        """Return the min-max form of the latest row."""
        known = self.counts if self._known is None else self._known
        shares = known.sum() * _weights(self._sides, known)[:, [self._atom]]
        model = LinearModel(self._row, intercept=False)
        functions = self._functions.over(model, shares)
        offsets, c1 = offsets_of(self.kappa), self.loss.c1
        return Saddle(functions, BLOCKS, offsets, c1, self.interval, self._lift)

    def _counted(self, counts: Any) -> np.ndarray:
        """Return the rows of each kind that a user knows, checked."""
        found = np.array(_check.vector("AUCStream", "counts", counts, 4))
        if found.min() < 0:
            _check.fail("AUCStream", "counts", "must be non-negative", counts)
        return all_compared("AUCStream", "counts", self._sides, found)

    def _lift(self, w: np.ndarray) -> np.ndarray:
        means = _weights(self._sides, self.counts) @ (self._first @ w)
        return np.concatenate((w, np.clip(means, -self.interval, self.interval)))


def _weights(sides: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the weight of a row of each atom in each subset's mean, (10, 4); 0 in pairs not seen yet."""
    rows = sides @ counts
    seen = np.tile((rows.reshape(2, -1) > 0).all(axis=0), 2)
    return sides * (seen / np.where(rows > 0, rows, 1.0))[:, None]
