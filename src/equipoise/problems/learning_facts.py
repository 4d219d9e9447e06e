"""What is known of a learning problem before it is solved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equipoise._array import norm
from equipoise.models.model import Model
from equipoise.problem import Facts

if TYPE_CHECKING:
    from equipoise.problems.learning import LearningProblem


def facts_of(problem: LearningProblem) -> Facts:
    """Return bounds from the lengths of the rows; see the notes of `LearningProblem`."""
    bounds = problem.terms.bounds(problem.model.norms)
    lipschitz, smoothness, weak = bounds.lipschitz, bounds.smoothness, bounds.weak_convexity
    if problem.l2 > 0.0:
        if smoothness is not None:
            smoothness = smoothness.copy()
            smoothness[0] += problem.l2
        if lipschitz is not None:
            farthest = norm(problem.domain.project(np.zeros(problem.dim))) + problem.domain.diameter
            lipschitz = lipschitz.copy()
            lipschitz[0] += problem.l2 * farthest
    return Facts(
        smooth=problem.terms.smooth,
        convex=None if weak is None else bool((weak == 0).all()),
        convex_constraints=None if weak is None else bool((weak[1:] == 0).all()),
        weak_convexity=_largest(weak),
        smoothness=_largest(smoothness),
        lipschitz=_largest(lipschitz),
        lower_bound=bounds.lower,
        stochastic=problem.batch is not None,
        rounding=_rounding(problem.model),
    )


def _rounding(model: Model) -> float:
    """The relative error of sums over rows of scores in the data's precision."""
    features = getattr(model, "features", None)
    return 1e-16 if features is None or features.dtype.itemsize >= 8 else 1e-7


def _largest(values: np.ndarray | None) -> float | None:
    if values is None or not np.isfinite(values).all():
        return None
    return float(values.max())
