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
from equipoise.problems import LearningProblem
from equipoise.run import Verdict

# Up to so many thresholds are all tried. Chosen.
TRIED_ONE_BY_ONE = 1000

# Where there are more, the distance from the present threshold grows by this factor from one to the next.
# Chosen.
GROWTH = 1.1

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

    The threshold is put between the scores of two rows: everywhere if the rows are few, else next to
    the present one, then farther and farther away, in steps that grow by a tenth. Some rows are left on
    either side: a classifier that says the same of everyone meets many bounds, and is of no use.
    """
    rows = problem.rows
    if rows.penalised[-1] != 0:  # no intercept
        return None
    ordered = rows.sorted_scores(x)
    edges = (ordered[1:] + ordered[:-1]) / 2
    if edges.size > TRIED_ONE_BY_ONE:
        count = 1 + np.log(edges.size) / np.log(GROWTH)
        steps = np.ceil(GROWTH ** np.arange(count)).astype(int)
        places = int(np.searchsorted(edges, 0.0)) + np.concatenate((-steps, [0], steps))
        edges = edges[np.unique(places[(places >= 0) & (places < edges.size)])]
    counted = [problem.values_of(sums)[1:] for sums in rows.at_thresholds(x, edges, True)]
    edges = edges[[bool((values <= allowed).all()) for values in counted]]
    smooth = [problem.values_of(sums)[0] for sums in rows.at_thresholds(x, edges, False)]
    for edge in edges[np.argsort(smooth, kind="stable")]:
        moved = x.copy()
        moved[-1] -= edge
        if (counted_at(problem, moved) <= allowed).all():  # also with its rounding errors
            return moved
    return None
