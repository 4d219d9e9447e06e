"""Another threshold: the same scores, cut elsewhere, so that bounds hold by counting."""

from __future__ import annotations

import numpy as np

from equipoise._status import Status
from equipoise.certificate import certify
from equipoise.estimators._counted.candidate import (
    Candidate,
    counted_at,
    counted_minus_smooth,
    measure,
)
from equipoise.estimators._counted.sweep import swept
from equipoise.problems import LearningProblem
from equipoise.run import Verdict

# Of the thresholds that keep the bounds, this many next to the present one are compared by objective. Chosen.
MAX_COMPARED = 100

MOVED = (
    "The bounds hold on the counted rates, after the threshold was moved. The certificate says how far "
    "the model is from optimal."
)


def move_threshold(problem: LearningProblem, fit: Candidate) -> Candidate | None:
    """Return the model of least objective that meets the bounds by another intercept, if any."""
    moved = with_threshold(problem, fit.x, fit.allowed)
    if moved is None:
        return None
    shifted = problem.shifted(counted_minus_smooth(problem, moved))
    verdict = Verdict(Status.FEASIBLE, claim=MOVED)
    certificate = certify(shifted, moved, second_order=False)
    result = fit.result.judged(verdict, x=moved, certificate=certificate)
    return measure(problem, result, fit.allowed, shifted)


def with_threshold(
    problem: LearningProblem, x: np.ndarray, allowed: np.ndarray
) -> np.ndarray | None:
    """Return the parameters of least objective that meet the bounds by another intercept, if any.

    Some rows are left on either side of the threshold: a classifier that says the same of everyone meets
    many bounds, and is of no use.
    """
    rows = problem.rows
    if rows.penalised[-1] != 0:  # no intercept
        return None
    sweep = swept(problem, x, allowed)
    inside = np.flatnonzero(sweep.keeps[1:-1]) + 1
    inside = inside[np.argsort(np.abs(sweep.edges[inside]), kind="stable")][:MAX_COMPARED]
    smooth = [
        values[0] for values in map(problem.values_of, rows.at_thresholds(x, sweep.edges[inside]))
    ]
    for place in inside[np.argsort(smooth, kind="stable")]:
        moved = sweep.model(int(place))
        if (counted_at(problem, moved) <= allowed).all():  # also with its rounding errors
            return moved
    return None
