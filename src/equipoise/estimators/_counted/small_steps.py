"""Small steps: from a model that nearly keeps many bounds to one that keeps them all by counting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import nnls
from scipy.special import expit

from equipoise.estimators._counted.candidate import (
    COUNTED,
    Candidate,
    counted_minus_smooth,
    is_large,
    largest_steps,
)
from equipoise.estimators._counted.fixed import can_fix, score_matrix
from equipoise.estimators._counted.search import SPARE_RANGE, Search, Stage
from equipoise.estimators._counted.shifting import sharpened, sharpness_for
from equipoise.estimators._counted.simple import Simple
from equipoise.problems import LearningProblem

# With fewer rates shifts settle by themselves. Chosen: twenty groups with two rates each.
MANY_RATES = 40

# How much sharper sigmoids are than those of the first shift: of 1, 3, 6 and 12, tried with equalised odds
# over fifty groups, 6 led to the most accurate model.
SHARPER = 6.0

# Steps at the most. Chosen: those that came to an end took up to 15.
MOST_STEPS = 40

# How far from being broken a bound may be so that a step heeds it; the next where too many tie. Chosen.
NEAR = 0.03, 0.01, 0.003, 0.0

# Changes of the bounds that a step meets exactly, for each parameter, at the most. Chosen.
MOST_CHANGES = 5

RIDGE = (
    1e-5  # relative to the mean square of the scores' columns, where these are dependent. Chosen.
)

STEPPED = (
    "The bounds hold on the counted rates, after small steps that each changed the scores as little as it "
    "could. The certificate says how far the model is from optimal."
)


@dataclass(frozen=True)
class SmallSteps(Stage):
    """Where rates are many, a solution moves so far with each shift that other groups break their bounds.

    1. solve with sharp sigmoids, which say more of counted rates
    2. from there, take the smallest step, measured by the scores next to the threshold, after which all
       bounds would hold if counted rates changed as sharp ones do; again until they hold by counting
    """

    name: ClassVar[str] = "taking small steps"

    def run(self, search: Search) -> Candidate | None:
        """Return the model that keeps all bounds; None where steps do not lead to one."""
        problem, known = search.problem, search.unconstrained
        if known is None or not _is_for(problem, search.allowed):
            return None
        sharp = sharpened(problem, SHARPER * sharpness_for(search))
        shift = 0.5 * counted_minus_smooth(sharp, known.x)
        first = search.solve(sharp.shifted(shift), search.start, None, search.rough)  # 1
        x = first.x
        scores = score_matrix(problem)
        for _ in range(MOST_STEPS):  # 2
            counted = problem.thresholded(x)[1:]
            if (counted <= search.allowed).all():
                simple = Simple(x, search.error(x), STEPPED)
                return simple.candidate(search, first.result.multipliers)
            search.check_budget()
            step = _smallest(
                sharp, scores, x, counted + np.minimum(largest_steps(problem), search.spare)
            )
            if step is None:
                return None
            x = x + step
        return None


def _is_for(problem: LearningProblem, allowed: np.ndarray) -> bool:
    """Whether many coarse rates are bounded, all by counting and linearly, and the rows are at hand.

    Not on small data, where all predictions can be fixed in the end, which leads to more accurate models.
    """
    rows, combination = problem.rows, problem.combination
    bent = any(place > 0 for place, _ in combination.bent)
    if bent or not rows.additive or not rows.uses_threshold or (allowed > COUNTED).any():
        return False
    if can_fix(problem, allowed):
        return False
    used = np.unique(combination.coefficients[1:].indices)
    if used.size < MANY_RATES or is_large(problem):
        return False
    # with fine rates shifts settle, at a certified model
    return bool(rows.largest[used].max() > SPARE_RANGE[0])


def _smallest(
    sharp: LearningProblem, scores: np.ndarray, x: np.ndarray, values: np.ndarray
) -> np.ndarray | None:
    """Return the smallest step after which no linearised value is above 0; None where there is none.

    A problem of least distance (Lawson & Hanson 1974): non-negative least squares.
    """
    sums = sharp.rows.at(x).jacobian(np.arange(sharp.rows.n_sums))
    positive = expit(scores @ x)
    metric = (scores * (positive * (1.0 - positive))[:, None]).T @ scores / len(scores)
    metric[np.diag_indices_from(metric)] += RIDGE * np.trace(metric) / x.size
    root = np.linalg.cholesky(metric)
    aim = np.eye(1, x.size + 1, x.size)[0]
    for width in NEAR:
        near = np.flatnonzero(values > -width)
        slopes = sharp.combination.coefficients[1:].tocsr()[near] @ np.asarray(sums)
        rules = np.vstack((-np.linalg.solve(root, slopes.T), values[near]))
        try:
            missed = rules @ nnls(rules, aim, maxiter=MOST_CHANGES * x.size)[0] - aim
        except (
            RuntimeError
        ):  # bounds on pairs of the same rates depend on each other, and it went in circles
            continue
        if missed[-1] > -COUNTED:  # no step keeps all of them
            return None
        return np.linalg.solve(root.T, -missed[:-1] / missed[-1])
    return None
