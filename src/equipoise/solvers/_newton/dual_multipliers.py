"""The multipliers of a quadratic program with few constraints, from its dual."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from equipoise._array import TINY

# Eigenvalues of S below this share of the largest count as that share: constraints may depend on
# each other. Chosen, far above rounding errors.
RELATIVE_RANK = 1e-10


def dual_multipliers(S: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return ``mu >= 0`` with ``S mu >= q``, and equality where ``mu > 0``, or nearly so.

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
