"""All thresholds of a model's scores at once: which keep the bounds, and how many rows each gets wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.estimators._counted.candidate import COUNTED, counted_at
from equipoise.problems import LearningProblem

MOST_COUNTS = 1 << 22  # thresholds that are looked at, times sums over rows: 32 MB. Chosen.
APART = 1e-9  # two scores, relative to the largest, between which a threshold is put
VALUES_AT_A_TIME = 1 << 20  # constraint values that are computed at a time
# Thresholds that are counted once more, with the rounding errors of the moved intercept. Chosen.
MOST_CHECKED = 20


@dataclass(frozen=True)
class Sweep:
    """The thresholds of one model.

    Attributes
    ----------
    x : ndarray of shape (dim,)
        The model.
    edges : ndarray of shape (E,)
        Thresholds of its scores, ascending; below all scores first, above all last.
    keeps : ndarray of shape (E,)
        Whether all bounds that follow from predictions hold.
    errors : ndarray of shape (E,)
        The share of the weight that is predicted wrongly.
    complete : bool
        Whether there is no other way to cut these scores.
    """

    x: np.ndarray
    edges: np.ndarray
    keeps: np.ndarray
    errors: np.ndarray
    complete: bool

    def model(self, place: int) -> np.ndarray:
        """Return the model with one of the thresholds."""
        moved = self.x.copy()
        moved[-1] -= self.edges[place]
        return moved

    def best(
        self, problem: LearningProblem, allowed: np.ndarray, below: float = np.inf
    ) -> tuple[float, np.ndarray] | None:
        """Return the least error and the model of a threshold that keeps all bounds, ends left out.

        None where no error is below the given one.
        """
        inside = np.flatnonzero(self.keeps[1:-1] & (self.errors[1:-1] < below)) + 1
        for place in inside[np.argsort(self.errors[inside], kind="stable")][:MOST_CHECKED]:
            moved = self.model(int(place))
            if (counted_at(problem, moved) <= allowed).all():
                return float(self.errors[place]), moved
        return None


def swept(
    problem: LearningProblem,
    x: np.ndarray,
    allowed: np.ndarray,
    class_factors: np.ndarray | None = None,
    most: int | None = None,
) -> Sweep:
    """Count predictions at the thresholds of the scores, in one pass over the sorted scores.

    `class_factors` multiply the weights of the rows of each class in the errors; without them, errors are
    not counted. Where that would be more than `MOST_COUNTS` numbers, or `most` thresholds, every k-th one is
    taken.
    """
    rows = problem.rows
    largest = max(1, MOST_COUNTS // max(1, rows.n_sums))
    most = largest if most is None else min(most, largest)
    scores = rows.sorted_scores(x)
    steps, least = np.diff(scores), APART * max(float(np.abs(scores).max()), 1e-300)
    places = np.flatnonzero(steps > least)
    complete = bool(((steps == 0.0) | (steps > least)).all()) and places.size <= most
    every = max(1, -(-places.size // most))
    between = (scores[places[::every]] + scores[places[::every] + 1]) / 2
    edges = np.concatenate(([scores[0] - 1.0], between, [scores[-1] + 1.0]))
    errors = np.zeros(edges.size)
    if class_factors is not None:
        errors = _errors(rows.classes_above(x, edges), class_factors)
    keeps = _keeps(problem, rows.above(x, edges), allowed)
    return Sweep(x, edges, keeps, errors, complete and bool((allowed <= COUNTED).all()))


def _keeps(problem: LearningProblem, sums: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return at which thresholds no bound is seen to be broken."""
    matrix, offsets = problem.combination.coefficients[1:], problem.combination.offsets[1:]
    unknown = [place - 1 for place, _ in problem.combination.bent if place > 0]
    kept = np.ones(len(sums), dtype=bool)
    size = max(1, VALUES_AT_A_TIME // max(1, matrix.shape[0]))
    for start in range(0, len(sums), size):
        values = matrix @ sums[start : start + size].T + offsets[:, None]
        values[unknown] = np.nan
        kept[start : start + size] = ~(values > allowed[:, None]).any(axis=0)
    return kept


def _errors(above: np.ndarray, class_factors: np.ndarray) -> np.ndarray:
    """Return the share of the weight that is predicted wrongly; `above` is (E, 2), the first all."""
    weighted = above * class_factors
    return (weighted[:, 0] + weighted[0, 1] - weighted[:, 1]) / weighted[0].sum()
