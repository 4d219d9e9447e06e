"""Where the scores of a learning problem meet the kinks of its terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equipoise.models.model import Model
from equipoise.problem import Kinks
from equipoise.terms.kinks import RowKinks

if TYPE_CHECKING:
    from equipoise.problems.learning import LearningProblem

HEAVY = 10.0  # times the mean
MOST_HEAVY = 4096
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
    part = problem.model.rows(found.rows)
    rows, target = _derivatives(part), scores[found.rows] + found.shifts
    for _ in range(2):  # the second time for the rounding errors of the first
        x = x + np.linalg.lstsq(rows, target - part.scores(x), rcond=1e-10)[0]
    scores = problem.model.scores(x)
    rounding = ROUNDING * max(1.0, float(np.abs(scores).max()))
    found = _few(problem.terms.kinks(scores, rounding), problem.dim)
    if found is None:
        return None
    rows = _derivatives(problem.model.rows(found.rows))
    return Kinks(x, found.jumps[:, None] * rows, found.masses, found.used)


def heaviest(bends: np.ndarray) -> np.ndarray:
    """Return the rows of far more than the mean second derivative: those on a rounded kink."""
    heavy = np.flatnonzero(bends > HEAVY * bends.mean())
    if heavy.size <= MOST_HEAVY:
        return heavy
    return heavy[np.argpartition(-bends[heavy], MOST_HEAVY)[:MOST_HEAVY]]


def _few(found: RowKinks | None, dim: int) -> RowKinks | None:
    """Return the kinks found, unless there are none, or too many."""
    if found is None or not 0 < found.rows.size <= min(MOST, MOST_ENTRIES / dim):
        return None
    return found


def _derivatives(model: Model) -> np.ndarray:
    """Return the derivative of every score, shape (n, d)."""
    return np.stack([model.pull(row) for row in np.eye(model.n_rows)])
