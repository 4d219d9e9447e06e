"""The multipliers of a quadratic program, from its dual; of a part of the constraints where they are many."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from equipoise._array import TINY

# Eigenvalues of S below this share of the largest count as that share: constraints may depend on
# each other. Chosen, far above rounding errors.
RELATIVE_RANK = 1e-10

# With more constraints, programs with part of them are solved one after the other: the time of one grows with
# the cube of their number. Chosen.
MOST_AT_ONCE = 64

# So many constraints that the last program broke most are in the next one. Chosen.
JOINING = 16

# A constraint that is left out joins where it is broken by more than this share of the largest number in q.
# Chosen.
BROKEN = 1e-9

# Constraints exclude each other where one of them is broken by more than this share. Chosen, far above what
# `RELATIVE_RANK` leaves undone.
EXCLUDED = 1e-6

# The most programs for one answer. Chosen: an answer is only a direction to try.
MOST_PROGRAMS = 100


def dual_multipliers(J: np.ndarray, Z: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return ``mu >= 0`` with ``S mu >= q``, and equality where ``mu > 0``, or nearly so; ``S = J Z``.

    Unless constraints exclude each other, no more of them need ``mu > 0`` than there are variables. So of
    many constraints only a part is looked at: those with ``mu > 0`` so far, and those most broken. This
    ends when none is broken, or when those of the part exclude each other: then all of them do, and the
    numbers returned are large.
    """
    if q.size <= MOST_AT_ONCE:
        return _of_all(J @ Z, q)
    mu, broken, size = np.zeros(q.size), q, np.abs(q).max()
    for _ in range(MOST_PROGRAMS):
        worst = np.argpartition(broken, -JOINING)[-JOINING:]
        part = np.union1d(np.flatnonzero(mu), worst)
        mu = np.zeros(q.size)
        mu[part] = _of_all(J[part] @ Z[:, part], q[part])
        broken = q - J @ (Z @ mu)
        if broken[part].max() > EXCLUDED * size or not broken.max() > BROKEN * size:
            break
    return mu


def _of_all(S: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the multipliers of constraints that are all looked at.

    S is symmetric and positive semi-definite but for what CG left undone. So first the best `mu` for
    its symmetric part is found, then equality is imposed on the constraints that are active there.
    """
    values, vectors = np.linalg.eigh((S + S.T) / 2)
    values = np.sqrt(np.maximum(values, RELATIVE_RANK * max(values[-1], TINY)))
    mu = nnls((vectors * values).T, (vectors / values).T @ q)[0]
    active = np.flatnonzero(mu)
    exact = np.linalg.lstsq(S[np.ix_(active, active)], q[active], rcond=RELATIVE_RANK)[0]
    if (exact > 0).all():
        mu[active] = exact
    return mu
