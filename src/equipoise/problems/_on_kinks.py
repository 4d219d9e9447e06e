"""Where the scores of a learning problem meet the kinks of its functions."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lstsq

from equipoise._problem import Kinks
from equipoise.rows import NearKinks, RowSums
from equipoise.terms import Combination, RowKinks

# The most rows whose scores may be on kinks, and the most entries of the dense matrix of their derivatives.
# Chosen: a solution has about as many such rows as parameters, unless rows repeat.
MAX_ROWS_ON_KINKS = 2000
MAX_JACOBIAN_ENTRIES = 1e7

# A score this close to a kink, relative to the largest score, is on it: the rest is rounding error.
ON_KINK = 1e-12


def point_on_kinks(
    rows: RowSums, combination: Combination, x: np.ndarray, width: float
) -> Kinks | None:
    """Move `x` the least that brings all scores within `width` of a kink onto it.

    None where there are no such scores, or too many, or where it is not known how the functions
    depend on a sum with a kink.
    """
    most = int(min(MAX_ROWS_ON_KINKS, MAX_JACOBIAN_ENTRIES / rows.dim))
    near = rows.near_kinks(x, width, most)
    if near is None:
        return None
    target = near.scores + near.kinks.shifts
    constant = near.scores - near.jacobian @ x
    for _ in range(2):  # the second time for the rounding errors of the first
        missing = target - (near.jacobian @ x + constant)
        x = x + lstsq(near.jacobian, missing, 1e-10, lapack_driver="gelsy")[0]
    scores = np.abs(near.scores).max(initial=0.0)
    return _kinks_at(rows, combination, x, ON_KINK * max(1.0, near.largest, float(scores)), most)


def _kinks_at(
    rows: RowSums, combination: Combination, x: np.ndarray, rounding: float, most: int
) -> Kinks | None:
    near: NearKinks | None = rows.near_kinks(x, rounding, most)
    if near is None:
        return None
    found: RowKinks | None = combination.kinks(near.kinks, rows.is_smooth)
    if found is None:
        return None
    return Kinks(x, found.jumps[:, None] * near.jacobian, found.masses, found.used)
