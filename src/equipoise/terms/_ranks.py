"""Counting pairs in the right order, by ranks."""

from __future__ import annotations

import numpy as np

from equipoise.terms._pair_point import Rows


def wins(rows: Rows, ties: float = 0.5) -> np.ndarray:
    """Return, for every two atoms p and q, the weight of pairs with ``s_i > s_j``, (A, A).

    A pair with equal scores counts as `ties`. One sort of the scores, and running sums.
    """
    order = np.argsort(rows.scores)
    scores = rows.scores[order]
    first = np.concatenate(([True], scores[1:] > scores[:-1])) if scores.size else np.zeros(0, bool)
    level = np.cumsum(first) - 1
    levels, A = np.count_nonzero(first), rows.count
    mass = np.bincount(A * level + rows.atoms[order], rows.weight[order], minlength=A * levels)
    mass = mass.reshape(levels, A)  # of the rows with each score
    below = np.cumsum(mass, axis=0) - (1.0 - ties) * mass
    return mass.T @ below
