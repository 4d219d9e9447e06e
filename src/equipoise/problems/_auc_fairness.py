"""AUC under AUC-based fairness, with the quadratic surrogate (Yao, Lin & Yang 2023)."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise._array import Array, norm, to_numpy
from equipoise._problem import Facts, Point, Problem, Saddle
from equipoise.models import Model
from equipoise.problems._auc_inputs import (
    all_compared,
    bounded,
    larger,
    one_score,
    reachable_bound,
    surrogate,
)
from equipoise.problems._learning import LearningProblem
from equipoise.problems._pair_functions import PairFunctions
from equipoise.sets import Set
from equipoise.terms import Combination, PairSums, Terms
from equipoise.terms._pair_point import PairedRows
from equipoise.terms._ranks import wins

# Every row is in one of four atoms, numbered by 2 [positive] + [in the first group]; subsets are unions
# of them.
ALL, POSITIVE, NEGATIVE = (0, 1, 2, 3), (2, 3), (0, 1)
SUBSETS_OF: dict[str, tuple[tuple[int, ...], ...]] = {
    "group": ((1, 3), (0, 2), ALL, ALL),
    "inter": ((3,), (0,), (2,), (1,)),
    "intra": ((3,), (1,), (2,), (0,)),
    "positive": ((3,), POSITIVE, ALL, ALL),
    "negative": ((1,), NEGATIVE, ALL, ALL),
    "background": (POSITIVE, (1,), (3,), NEGATIVE),
}
"""The subsets G1, G1', G2, G2' of which ``AUC(G1, G1') - AUC(G2, G2')`` is bounded."""

# The five pairs of subsets are (D+, D-); (G1', G1), (G2, G2'); (G2', G2), (G1, G1'). To which of the three
# functions each belongs: the objective, and two constraints.
BLOCKS = np.array([0, 1, 1, 2, 2])

# The farthest point of the domain in a direction is found by projecting a point that is this many diameters
# away. Chosen: the bound is then too large by a relative 1e-8 at most.
DIAMETERS_AWAY = 1e8


def pairs_of(owner: str, kind: str) -> np.ndarray:
    """Return which atoms are in the first subsets of the five pairs, then in the second ones, (10, 4)."""
    G1, H1, G2, H2 = SUBSETS_OF[_check.choice(owner, "kind", kind, SUBSETS_OF)]
    sides = (POSITIVE, H1, G2, H2, G1, NEGATIVE, G1, H2, G2, H1)
    return np.array([np.isin(np.arange(4), side) for side in sides])


def offsets_of(kappa: float) -> np.ndarray:
    """Return what is added to the losses of pairs in each function."""
    return np.array([0.0, -1.0 - kappa, -1.0 - kappa])


@final
class AUCFairness(Problem):
    r"""Maximise the AUC while two AUCs differ by at most `kappa`, by a quadratic surrogate.

    With scores h and ``l(G, G') = E[c1 (h - h' - c2)^2 | G, G']`` in the place of ``Pr(h <= h' | G, G')``,
    the objective is ``l(D+, D-)`` of positives and negatives, and the constraints are
    ``l(G1', G1) + l(G2, G2') <= 1 + kappa`` and ``l(G2', G2) + l(G1, G1') <= 1 + kappa``. They are exact,
    and cost O(n): a quadratic loss of pairs follows from the means and variances of the scores. The true
    constraints, ``+-(AUC(G1, G1') - AUC(G2, G2')) <= kappa`` by ranks, are `true_values`.

    Parameters
    ----------
    model : Model
        Of one score a row.
    labels, groups : arrays of shape (n,)
        Two values each; the larger ones are the positives and the first group.
    kind : {"group", "inter", "intra", "positive", "negative", "background"}
        Which AUCs are compared; see `equipoise.auc_parity`.
    kappa : float
        Scores that are all equal give ``2 c1 c2^2`` on both left sides, all others more on one of them: a
        `kappa` below ``2 c1 c2^2 - 1`` cannot be reached.
    c1, c2 : float
    domain : Set
        Bounded.
    interval : float, optional
        A bound on the mean scores of the subsets and on their differences, for the min-max form; computed
        for a linear model, needed for another.
    batch : int, optional
        The rows of a mini-batch. Shares of subsets are those of all rows, so that estimates are unbiased.

    Notes
    -----
    The surrogate shrinks scores: with ``c2 = 1`` and ``c1 = 1/2``, the gap of the mean scores and half of
    their squared gaps and variances must be at most `kappa` together.

    Examples
    --------
    >>> import numpy as np
    >>> from equipoise.models import LinearModel
    >>> from equipoise.problems import AUCFairness
    >>> from equipoise.sets import L2Ball
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [-1.0, 0.5]])
    >>> model = LinearModel(X, intercept=False)
    >>> problem = AUCFairness(model, [1, 0, 1, 0], [1, 1, 0, 0], kind="group", kappa=0.1, domain=L2Ball(2.0))
    >>> problem.at(np.zeros(2)).values.round(3)
    array([ 0.5, -0.1, -0.1])
    """

    def __init__(
        self,
        model: Model,
        labels: Any,
        groups: Any,
        *,
        kind: str = "inter",
        kappa: float = 0.05,
        c1: float = 0.5,
        c2: float = 1.0,
        domain: Set,
        interval: float | None = None,
        batch: int | None = None,
    ) -> None:
        owner = "AUCFairness"
        self.model, sides = one_score(owner, model), pairs_of(owner, kind)
        self.loss = surrogate(owner, c1, c2)
        self.kappa = reachable_bound(owner, kappa, self.loss)
        self.domain = bounded(owner, domain, model.dim)
        if interval is None and not model.linear:
            _check.fail(owner, "interval", "must be given for a model that is not linear", None)
        self._interval = None if interval is None else _check.positive(owner, "interval", interval)
        if batch is not None and _check.count(owner, "batch", batch, least=1) > model.n_rows:
            _check.fail(owner, "batch", f"must be at most the {model.n_rows} rows", batch)
        positive = larger(owner, "labels", labels, model.n_rows)
        self._atoms = 2 * positive + larger(owner, "groups", groups, model.n_rows)
        all_compared(owner, "groups", sides, np.bincount(self._atoms, minlength=4))
        self._sides = sides
        self._weights = self._weights_of_atoms()
        self.shares = model.n_rows * self._weights[:, self._atoms]
        self.exact = self._learning_problem(batch)
        self.dim, self.n_constraints = model.dim, 2
        self.names, self.facts = self.exact.names, self.exact.facts

    def at(self, x: Array) -> Point:
        """Evaluate the objective and both constraints."""
        return self.exact.at(x)

    def sample(self, rng: np.random.Generator) -> Problem:
        """Return the problem of the pairs within a mini-batch; `saddle` has unbiased estimates."""
        batch, n = self.exact.batch, self.model.n_rows
        return self if batch is None else self.of_rows(rng.choice(n, batch, replace=False))

    def of_rows(self, index: np.ndarray) -> AUCFairness:
        """Return the problem of some rows; a pair of subsets counts as of equal scores where one is empty."""
        part = copy(self)
        part.__dict__.pop("_saddle", None)
        part.model, part._atoms = self.model.rows(index), self._atoms[index]
        part._weights = part._weights_of_atoms()
        part.shares = self.shares[:, index]
        part.exact = part._learning_problem(None, self.facts)
        return part

    def true_values(self, point: Point) -> np.ndarray:
        """Return ``+-(AUC(G1, G1') - AUC(G2, G2')) - kappa`` by ranks, with ties counted as one half."""
        scores = to_numpy(self.model.scores(point.x))
        won = wins(PairedRows(scores, np.ones(scores.size), self._atoms, 4))
        above, below = self._weights[:5], self._weights[5:]
        first, second = (above[j] @ won @ below[j] + 0.5 * self._empty[j] for j in (4, 2))
        return np.array([first - second, second - first]) - self.kappa

    def saddle(self) -> Saddle:
        """Return the min-max form, which needs single rows instead of pairs."""
        return self._saddle

    @cached_property
    def _saddle(self) -> Saddle:
        c1, c2, I = self.loss.c1, self.loss.c2, self.interval  # noqa: E741
        batch = self.exact.batch
        functions = PairFunctions(self.model, self.shares, c1, c2, self.domain, I, batch)
        return Saddle(functions, BLOCKS, offsets_of(self.kappa), c1, I, functions.lift)

    @cached_property
    def interval(self) -> float:
        """A bound on the mean scores of the subsets, and on their differences within a pair."""
        if self._interval is not None:
            return self._interval
        origin = np.zeros(self.dim)
        at_zero = self.model.at(origin)
        shares = self.shares / self.model.n_rows
        J = len(shares) // 2
        offsets = to_numpy(at_zero.scores)
        farthest = 0.0
        for row in (*shares, *(shares[:J] - shares[J:])):
            mean = to_numpy(at_zero.pull(row))
            reach = [support(self.domain, side * mean) + side * (row @ offsets) for side in (1, -1)]
            farthest = max(farthest, *reach)
        return farthest

    def _weights_of_atoms(self) -> np.ndarray:
        """Return the weight of a row of each atom in the mean of each subset, (10, 4); 0 if it is empty."""
        counts = self._sides @ np.bincount(self._atoms, minlength=4)
        return self._sides / np.maximum(counts, 1)[:, None]

    @property
    def _empty(self) -> np.ndarray:
        """Which of the five pairs have an empty subset."""
        counts = self._sides @ np.bincount(self._atoms, minlength=4)
        return (counts[:5] == 0) | (counts[5:] == 0)

    def _learning_problem(self, batch: int | None, facts: Facts | None = None) -> LearningProblem:
        """Return the same functions as sums over pairs."""
        above, below = self._weights[:5].T, self._weights[5:].T
        sums = PairSums(self.loss, self._atoms, np.ones(self._atoms.size), above, below)
        coefficients = np.equal.outer(np.arange(3), BLOCKS).astype(float)
        offsets = offsets_of(self.kappa) + coefficients @ (
            self._empty * self.loss.value(np.zeros(5))
        )
        names = ("first AUC above second", "second AUC above first")
        terms = Terms(sums, Combination(coefficients, offsets, names=names))
        return LearningProblem.of(self.model, terms, domain=self.domain, batch=batch, facts=facts)


def support(domain: Set, direction: np.ndarray) -> float:
    """Bound ``max_{w in domain} <direction, w>`` from above, by one projection.

    With z the projection of ``t direction``, every w has
    ``<direction, w> <= <direction, z> + |z| |w - z| / t``.
    """
    length = norm(direction)
    if length == 0.0:
        return 0.0
    D = domain.diameter
    t = DIAMETERS_AWAY * D / length
    z = domain.project(t * direction)
    return float(direction @ z) + norm(z) * D / t
