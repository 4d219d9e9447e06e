"""Predictions turned over and held fixed: the best model that makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import linprog

from equipoise._status import Status
from equipoise.estimators._counted.candidate import COUNTED, Candidate, measure
from equipoise.estimators._counted.programs import interruptible
from equipoise.estimators._counted.search import Search, Stage
from equipoise.estimators._counted.turning import cheapest_turned
from equipoise.estimators._runner import Runner
from equipoise.problems import LearningProblem
from equipoise.run import Verdict
from equipoise.terms import Terms, fixed_predictions

# Repaired predictions for which a model is looked for, at the most. Chosen.
MAX_PATTERNS = 8

# With more rows x parameters, predictions are not fixed row by row, as each row is a constraint of its
# own; the second number holds where rows are few beside parameters (`is_wide`). Chosen.
MAX_DENSE_ENTRIES, MAX_DENSE_ENTRIES_IF_WIDE = 2_000_000, 50_000_000

# Steps of the solver for one pattern of predictions, at the most. Chosen.
MAX_STEPS_PER_PATTERN = 100

# The scores of fixed predictions stay this far from 0, so that rounding errors do not turn them over
# again. Chosen; the verdict names it.
SCORE_MARGIN = 1e-3

FIXED = (
    "Converged: of all models with the same predictions (and every score at least {margin:g} from 0) "
    "the one returned {claim}. All bounds hold on the counted rates."
)


@dataclass(frozen=True)
class TurnPredictions(Stage):
    """Where rows are few beside parameters, predictions can be chosen at will.

    Turn over those that are the cheapest to turn, so that the bounds hold by counting, and solve
    for the best model that makes them.
    """

    name: ClassVar[str] = "turning predictions over"

    def run(self, search: Search) -> Candidate | None:
        """Return the model if it is certified."""
        problem = search.problem
        if not is_wide(problem):
            return None
        given = search.tried[:1]
        if search.unconstrained is not None:
            given.insert(0, measure(problem, search.unconstrained.result, search.allowed))
        for fit in given:
            turned = turned_over(problem, [fit], search.runner)
            search.check_interrupt()
            if turned and turned[0].certified:
                return turned[0]
        return None


def is_wide(problem: LearningProblem) -> bool:
    """Whether there are linear models for most predictions of the rows (Cover 1965)."""
    return problem.rows.n_rows <= 2 * problem.dim


def can_fix(problem: LearningProblem, allowed: np.ndarray) -> bool:
    """Whether predictions can be fixed row by row: few rows, and constraints linear in counted rates."""
    most = MAX_DENSE_ENTRIES_IF_WIDE if is_wide(problem) else MAX_DENSE_ENTRIES
    small = problem.rows.n_rows * problem.dim <= most
    linear = all(place == 0 for place, _ in problem.combination.bent)
    counted = bool((allowed <= COUNTED).any())
    return bool(small and counted and linear and problem.rows.additive and problem.facts.smooth)


def is_fixed(fit: Candidate) -> bool:
    """Whether the model was only compared with those of the same predictions: no counted bound was left."""
    names = np.array(fit.plain.names)[fit.allowed <= COUNTED]
    return names.size > 0 and not np.isin(names, fit.problem.names).any()


def turned_over(
    problem: LearningProblem, models: Sequence[Candidate], runner: Runner
) -> list[Candidate]:
    """Return the best models with repaired predictions of `models`.

    1. turn over the predictions that are the cheapest to turn (by |score|), so that all bounds hold
       by counting
    2. if a linear model makes such predictions: solve for the one of least objective that does
    """
    if not models or not can_fix(problem, models[0].allowed):
        return []
    rows = problem.rows.gathered()
    matrix = None if is_wide(problem) else score_matrix(problem)
    seen: set[bytes] = set()
    patterns: dict[bytes, Candidate | None] = {}
    used = rows.sums.used
    for fit in models:
        if runner.budget.wish is not None:
            break
        scores = rows.model.predicted(fit.x)
        key = (scores > 0).tobytes()
        if key in seen or len(patterns) == MAX_PATTERNS or len(seen) == 2 * MAX_PATTERNS:
            continue
        seen.add(key)
        positive = cheapest_turned(problem, rows, scores, fit, runner)  # 1
        # a classifier that says the same of everyone meets many bounds, and is of no use
        if positive is None or positive[used].all() or not positive[used].any():
            continue
        if (key := positive.tobytes()) not in patterns:  # 2
            possible = matrix is None or _exists(matrix, positive)
            patterns[key] = best_with(problem, positive, fit, runner) if possible else None
    return [fit for fit in patterns.values() if fit is not None]


def best_with(
    problem: LearningProblem, positive: np.ndarray, fit: Candidate, runner: Runner
) -> Candidate:
    """Return the model of least objective among those with these predictions."""
    rows = problem.rows.gathered()
    beside = np.flatnonzero(fit.allowed > COUNTED).tolist()
    terms = fixed_predictions(Terms(rows.sums, problem.combination), positive, SCORE_MARGIN, beside)
    fixed = LearningProblem.of(rows.model, terms, domain=problem.domain, l2=problem.l2)
    result = runner.solve(fixed, fit.x, max_steps=MAX_STEPS_PER_PATTERN)
    if result.status is Status.CONVERGED:
        convex = fixed.facts.convex is True
        claim = "has the least objective" if convex else "meets the optimality conditions"
        message = FIXED.format(margin=SCORE_MARGIN, claim=claim)
        result = result.judged(Verdict(Status.CONVERGED, near=result.near, claim=message))
    return measure(problem, result, fit.allowed, fixed)


def score_matrix(problem: LearningProblem) -> np.ndarray:
    """Return the matrix that makes scores of parameters."""
    push = problem.rows.scored(np.zeros(problem.dim)).push
    assert push is not None
    units = (np.eye(1, problem.dim, j)[0] for j in range(problem.dim))
    return np.column_stack([push(unit) for unit in units])


def _exists(matrix: np.ndarray, positive: np.ndarray) -> bool:
    """Return whether some linear model makes these predictions: a linear program."""
    signed = np.where(positive, -1.0, 1.0)[:, None] * matrix
    zero, ones = np.zeros(matrix.shape[1]), np.ones(len(matrix))
    answer = interruptible(linprog, zero, signed, -ones, bounds=(None, None))
    return answer.status == 0
