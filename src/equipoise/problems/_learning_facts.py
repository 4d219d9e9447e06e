"""What is known of the functions of a learning problem without evaluating them."""

from __future__ import annotations

import numpy as np

from equipoise._array import norm
from equipoise._problem import Facts
from equipoise.rows import RowSums
from equipoise.sets import Set
from equipoise.terms import Combination


def learning_facts(
    rows: RowSums, combination: Combination, domain: Set, l2: float, stochastic: bool
) -> Facts:
    """Return what follows from the lengths of the rows; see the notes of `LearningProblem`."""
    bounds = combination.bounds(rows.bounds())
    lipschitz, smoothness, weak = bounds.lipschitz, bounds.smoothness, bounds.weak_convexity
    if l2 > 0.0:
        if smoothness is not None:
            smoothness[0] += l2
        if lipschitz is not None:
            farthest = norm(domain.project(np.zeros(rows.dim))) + domain.diameter
            lipschitz[0] += l2 * farthest
    return Facts(
        smooth=rows.smooth,
        convex=None if weak is None else bool((weak == 0).all()),
        convex_constraints=None if weak is None else bool((weak[1:] == 0).all()),
        weak_convexity=_largest(weak),
        smoothness=_largest(smoothness),
        lipschitz=_largest(lipschitz),
        lower_bound=bounds.lower,
        stochastic=stochastic,
        rounding=rows.rounding,
    )


def _largest(values: np.ndarray | None) -> float | None:
    if values is None or not np.isfinite(values).all():
        return None
    return float(values.max())
