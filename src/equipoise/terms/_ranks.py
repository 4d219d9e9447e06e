"""Counting pairs in the right order, by ranks."""

from __future__ import annotations

import numpy as np

from equipoise._array import counted_there, namespace, to_numpy
from equipoise.terms._pair_point import PairedRows


def wins(rows: PairedRows, ties: float = 0.5) -> np.ndarray:
    """Return, for every two atoms p and q, the weight of pairs with ``s_i > s_j``, (A, A).

    A pair with equal scores counts as `ties`. One sort of the scores, and running sums.
    """
    xp, A = namespace(rows.scores), rows.count
    order = xp.argsort(rows.scores)
    scores, level = rows.scores[order], xp.zeros_like(order)
    level[1:] = (scores[1:] > scores[:-1]).cumsum(0)
    levels = int(level[-1]) + 1 if level.shape[0] else 0
    mass = counted_there(A * level + rows.atoms[order], rows.weight[order], A * levels)
    mass = mass.reshape(levels, A)  # of the rows with each score
    below = mass.cumsum(0) - (1.0 - ties) * mass
    return to_numpy(mass.T @ below)
