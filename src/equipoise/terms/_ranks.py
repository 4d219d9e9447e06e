"""Counting pairs in the right order, by ranks."""

from __future__ import annotations

import numpy as np

from equipoise.terms._pair_point import Rows


def wins(rows: Rows, ties: float = 0.5) -> np.ndarray:
    """Return, for every two atoms p and q, the weight of pairs with ``s_i > s_j``, (A, A).

    A pair with equal scores counts as `ties`. One sort of the scores, and running sums.
    """
    order = np.argsort(rows.scores, kind="stable")
    scores, atoms, weight = rows.scores[order], rows.atoms[order], rows.weight[order]
    first = np.concatenate(([True], scores[1:] > scores[:-1])) if scores.size else np.zeros(0, bool)
    start = np.flatnonzero(first)
    level = np.cumsum(first) - 1
    found = np.zeros((rows.count, rows.count))
    for q in range(rows.count):
        own = np.where(atoms == q, weight, 0.0)
        mass = np.add.reduceat(own, start) if start.size else np.zeros(0)
        below = np.cumsum(mass) - mass + ties * mass
        found[:, q] = np.bincount(atoms, weight * below[level], minlength=rows.count)
    return found
