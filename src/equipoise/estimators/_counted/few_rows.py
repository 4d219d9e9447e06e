"""Bounds worth a few rows: sigmoids say little of them, and a model's best threshold is known by sorting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.estimators._counted.candidate import (
    COUNTED,
    Candidate,
    counted_at,
    largest_steps,
)
from equipoise.estimators._counted.fixed import is_wide
from equipoise.estimators._counted.search import SPARE_ROWS, Search, Stage
from equipoise.estimators._counted.simple import Simple, best_simple, next_to_or_itself
from equipoise.estimators._counted.threshold import MOVED
from equipoise.problems import LearningProblem

# Beside all scores, in their standard deviations: the least at which rounding errors do not matter. Chosen.
BESIDE = (1e-6, 1e-3, 1.0)

# How often the model next to the best threshold is solved for, at the most. Chosen.
ROUNDS = 8


@dataclass(frozen=True)
class CutScores(Stage):
    """Where errors are asked for and all bounds are worth few rows: cut the scores of models at hand.

    1. solve with the bounds loosened by a few rows, so that sigmoids can meet them
    2. take the best threshold of this model, the first one and those to come that keeps all bounds; if
       there is none, one beside all scores of the first: new rows may lie beyond it
    3. solve for the model next to it, and do 2 again while that leads to a better one

    Not where rows are few beside parameters, and their predictions can be chosen at will.
    """

    name: ClassVar[str] = "cutting scores"

    def run(self, search: Search) -> Candidate | None:
        """Return the model; None where no threshold keeps the bounds, or they are worth more rows."""
        problem = search.problem
        if not search.asks_errors or is_wide(problem) or problem.rows.penalised[-1] != 0:
            return None
        if not worth_few_rows(problem, search.allowed):
            return None
        loosened = problem.shifted(-0.5 * SPARE_ROWS * largest_steps(problem))
        search.solve(loosened, search.start, search.previous, search.rough)  # 1
        simple = best_simple(search)
        if simple is None or simple.claim != MOVED:
            simple = _beside_all(search)
        found: Candidate | None = None
        for _ in range(ROUNDS):
            if simple is None:
                break
            found = next_to_or_itself(search, simple)  # 3
            search.check_budget()
            simple = best_simple(search, None, search.error(found.x))  # 2
        return found


def worth_few_rows(problem: LearningProblem, allowed: np.ndarray) -> bool:
    """Whether every bound lies only a few rows' predictions above the least that it could count."""
    combination = problem.combination
    bent = any(place > 0 for place, _ in combination.bent)
    if bent or not allowed.size or (allowed > COUNTED).any():
        return False
    matrix, ends = combination.coefficients[1:].tocsr(), problem.rows.bounds()
    known = np.isfinite(ends.least) & np.isfinite(ends.largest)
    if not known[matrix.indices].all():
        return False
    low, high = np.where(known, ends.least, 0.0), np.where(known, ends.largest, 0.0)
    least = matrix.maximum(0) @ low + matrix.minimum(0) @ high + combination.offsets[1:]
    return bool(((least <= COUNTED) & (-least < SPARE_ROWS * largest_steps(problem))).all())


def _beside_all(search: Search) -> Simple | None:
    """Return a model that predicts the same of all rows, with the scores of the first one."""
    problem, x = search.problem, search.start
    scores = problem.rows.sorted_scores(x)
    spread = float(scores.std())
    if spread == 0.0:
        return None
    for gap in BESIDE:
        for edge in (scores[-1] + gap * spread, scores[0] - gap * spread):
            moved = x.copy()
            moved[-1] -= edge
            if (
                problem.rows.is_constant(moved)
                and (counted_at(problem, moved) <= search.allowed).all()
            ):
                return Simple(moved, search.error(moved), MOVED)
    return None
