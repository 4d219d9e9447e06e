"""Another threshold: the same scores, cut elsewhere, so that bounds hold by counting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from equipoise.certificate import certify
from equipoise.estimators.counting import (
    Kept,
    counted_at,
    gap_at,
    measure,
    prediction_scores,
    used_rows,
)
from equipoise.problems.learning import LearningProblem
from equipoise.status import Status

FEW = 1000  # thresholds that are all tried
MOVED = (
    "The bounds hold on the counted rates, after the threshold was moved. The certificate says how far "
    "the model is from optimal."
)


def move_threshold(problem: LearningProblem, fit: Kept) -> Kept | None:
    """Return the model of least objective that meets the bounds by another intercept, if any."""
    moved = with_threshold(problem, fit.result.x, fit.allowed)
    if moved is None:
        return None
    shifted = problem.shifted(gap_at(problem, moved))
    result = replace(
        fit.result,
        x=moved,
        certificate=certify(shifted, moved),
        status=Status.FEASIBLE,
        message=MOVED,
        blocking={},
        near=None,
    )
    return measure(problem, result, fit.allowed, shifted)


def with_threshold(
    problem: LearningProblem, x: np.ndarray, allowed: np.ndarray
) -> np.ndarray | None:
    """Return the parameters of least objective that meet the bounds by another intercept, if any.

    The threshold is put between the scores of two rows: everywhere if the rows are few, else next to
    the present one, then farther and farther away, in steps that grow by a tenth. Some rows are left on
    either side: a classifier that says the same of everyone meets many bounds, and is of no use.
    """
    if problem.model.penalised[-1] != 0:  # no intercept
        return None
    scores = prediction_scores(problem.model, x)
    used = used_rows(problem)
    ordered = np.sort(scores[used], kind="stable")
    edges = (ordered[1:] + ordered[:-1]) / 2
    if edges.size > FEW:
        steps = np.ceil(1.1 ** np.arange(1 + np.log(edges.size) / np.log(1.1))).astype(int)
        places = int(np.searchsorted(edges, 0.0)) + np.concatenate((-steps, [0], steps))
        edges = edges[np.unique(places[(places >= 0) & (places < edges.size)])]
    edges = [e for e in edges if (problem.terms.hard(scores - e)[1:] <= allowed).all()]
    smooth = problem.model.scores(x)
    for edge in sorted(edges, key=lambda e: float(problem.terms.at(smooth - e).values[0])):
        moved = x.copy()
        moved[-1] -= edge
        if (counted_at(problem, moved) <= allowed).all():  # also with its rounding errors
            return moved
    return None
