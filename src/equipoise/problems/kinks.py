"""Where the scores of a learning problem meet the kinks of its terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import lstsq

from equipoise.problem import Kinks
from equipoise.terms.kinks import RowKinks

if TYPE_CHECKING:
    from equipoise.problems.learning import LearningProblem

LEAST_HEAVY, MOST_HEAVY = 512, 4096
MOST = 2000  # rows on kinks: a solution has about as many as parameters, unless rows repeat
MOST_ENTRIES = 1e7  # of their features
ROUNDING = 1e-12  # a score this close to a kink is on it; relative to the largest score


def kinks_near(problem: LearningProblem, x: np.ndarray, width: float) -> Kinks | None:
    """Move `x` the least that brings all scores within `width` of a kink onto it.

    None where there are no such scores, or too many, or where a function has a concave kink: there
    not every slope between the two is a subgradient.
    """
    if problem.facts.weak_convexity is None:
        return None
    scores = problem.model.scores(x)
    found = _few(problem.terms.kinks(scores, width), problem.dim)
    if found is None:
        return None
    part: Any = problem.model.rows(found.rows)
    rows, target = part.jacobian, scores[found.rows] + found.shifts
    for _ in range(2):  # the second time for the rounding errors of the first
        x = x + lstsq(rows, target - part.scores(x), 1e-10, lapack_driver="gelsy")[0]
    scores = problem.model.scores(x)
    rounding = ROUNDING * max(1.0, float(np.abs(scores).max()))
    found = _few(problem.terms.kinks(scores, rounding), problem.dim)
    if found is None:
        return None
    part = problem.model.rows(found.rows)
    return Kinks(x, found.jumps[:, None] * part.jacobian, found.masses, found.used)


def heaviest(bends: np.ndarray, dim: int) -> np.ndarray:
    """Return the rows of the largest second derivatives, on a rounded kink or near it.

    So many that those beyond the kinks of a solution, at most `dim`, are among them: these bend the
    functions in the directions that are left.
    """
    number = min(max(2 * dim, LEAST_HEAVY), MOST_HEAVY, bends.size)
    return np.sort(np.argpartition(-bends, number - 1)[:number])


def _few(found: RowKinks | None, dim: int) -> RowKinks | None:
    """Return the kinks found, unless there are none, or too many."""
    if found is None or not 0 < found.rows.size <= min(MOST, MOST_ENTRIES / dim):
        return None
    return found
