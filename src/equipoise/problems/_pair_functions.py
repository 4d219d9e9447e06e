"""The functions whose minimum and maximum are quadratic losses of pairs (Yao, Lin & Yang 2023, Lemma 1)."""

from __future__ import annotations

from copy import copy
from typing import final

import numpy as np

from equipoise._array import Array, like, to_numpy
from equipoise._problem import Facts, Point, Problem
from equipoise.models import Model
from equipoise.sets import Box, Product, Set


@final
class PairFunctions(Problem):
    r"""``F_j`` and ``G_j`` for J pairs of subsets, as functions of ``x = (w, a, b)``.

    With the score h of a row, ``A_j = 1[row in G_j] / Pr(G_j)`` and ``B_j`` likewise of the other subset,

        F_j = E[c1 c2^2 - 2 c1 c2 h (A_j - B_j) + c1 (h - a_j)^2 A_j + c1 (h - b_j)^2 B_j],
        G_j = E[2 c1 h (A_j - B_j)].

    Then ``E[c1 (h - h' - c2)^2 | G_j, G_j'] = min_{a, b} max_alpha F_j + alpha G_j - c1 alpha^2``, at
    ``a = E[h | G_j]``, ``b = E[h | G_j']``, ``alpha = a - b``: means over single rows, of which each gives an
    unbiased estimate. (The paper has ``- alpha^2``, which is right for c1 = 1 alone.)

    Parameters
    ----------
    model : Model
    shares : ndarray of shape (2 J, n)
        Of every row: ``A_1, .., A_J``, then ``B_1, .., B_J``.
    c1, c2 : float
    domain : Set
        Of `w`.
    interval : float
        The largest ``|a_j|`` and ``|b_j|``.
    batch : int, optional
        The rows that `sample` draws; by default it draws none.
    """

    def __init__(
        self,
        model: Model,
        shares: np.ndarray,
        c1: float,
        c2: float,
        domain: Set,
        interval: float,
        batch: int | None = None,
    ) -> None:
        self.model, self.shares, self.c1, self.c2 = model, shares, c1, c2
        self.interval, self.batch = interval, batch
        twice = len(shares)
        self.dim, self.n_constraints = model.dim + twice, twice - 1
        names = [f"{kind}_{j}" for kind in "FG" for j in range(twice // 2)]
        self.names = tuple(names[1:])
        box = Box(-interval, interval, dim=twice)
        self.domain = Product([(domain, model.dim), (box, twice)])
        self.facts = Facts(smooth=model.smooth, stochastic=batch is not None)
        self._mass = shares.mean(axis=1)

    def at(self, x: Array) -> Point:
        """Evaluate every ``F_j`` and ``G_j``."""
        c1, c2, M, d = self.c1, self.c2, self.shares, self.model.dim
        J, n = len(M) // 2, M.shape[1]
        z = to_numpy(x)[d:]
        model = self.model.at(x[:d])
        h = to_numpy(model.scores)
        first, second = M @ h / n, M @ (h * h) / n
        spread = c1 * (second - 2 * z * first + z * z * self._mass)
        gap = first[:J] - first[J:]
        F = c1 * c2**2 - 2 * c1 * c2 * gap + spread[:J] + spread[J:]

        def vjp(weights: np.ndarray) -> Array:
            f, g = np.tile(weights[:J], 2), 2 * c1 * (weights[J:] - c2 * weights[:J])
            slopes = np.concatenate((g, -g)) - 2 * c1 * f * z
            by_score = (slopes @ M + 2 * c1 * h * (f @ M)) / n
            by_w = to_numpy(model.pull(like(by_score, model.scores)))
            return like(np.concatenate((by_w, -2 * c1 * f * (first - z * self._mass))), x)

        return Point(x, np.concatenate((F, 2 * c1 * gap)), vjp)

    def lift(self, w: np.ndarray) -> np.ndarray:
        """Return ``(w, a, b)`` with the means of the scores as a and b."""
        means = self.shares @ to_numpy(self.model.scores(w)) / self.shares.shape[1]
        return np.concatenate((w, np.clip(means, -self.interval, self.interval)))

    def sample(self, rng: np.random.Generator) -> Problem:
        """Return the same functions of a mini-batch; the shares remain those of all rows."""
        if self.batch is None:
            return self
        return self.of_rows(rng.choice(self.shares.shape[1], self.batch, replace=False))

    def of_rows(self, index: np.ndarray) -> PairFunctions:
        """Return the functions of some rows."""
        return self.over(self.model.rows(index), self.shares[:, index])

    def over(self, model: Model, shares: np.ndarray) -> PairFunctions:
        """Return the same functions of all rows of another model."""
        changed = copy(self)
        changed.model, changed.shares, changed.batch = model, shares, None
        changed._mass = shares.mean(axis=1)
        return changed
