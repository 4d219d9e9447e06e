"""A domain around a point as rows of a linear program."""

from __future__ import annotations

import numpy as np

from equipoise.sets import LinearRows, Set
from equipoise.solvers._solver import UnsuitableSolverError


def linear_rows(domain: Set, x: np.ndarray) -> LinearRows:
    """Return the steps from the point `x` of the domain that stay in it; raise where there are no rows."""
    rows = domain.linear_rows(x)
    if rows is None:
        raise UnsuitableSolverError(
            f"Linear programs need a domain with `linear_rows`, and {domain!r} has none. "
            "Choose another solver."
        )
    return rows
