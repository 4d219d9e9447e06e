"""Predictions turned over and held fixed: the best model that makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from equipoise._status import Status
from equipoise.estimators._counted.candidate import COUNTED, Candidate, measure
from equipoise.estimators._counted.programs import interruptible
from equipoise.estimators._counted.search import Search, Stage
from equipoise.estimators._runner import Runner
from equipoise.problems import LearningProblem
from equipoise.rows import MemorySums
from equipoise.run import Verdict
from equipoise.terms import Terms, fixed_predictions

# Repaired predictions for which a model is looked for, at the most. Chosen.
MAX_PATTERNS = 8

# Only the predictions of this many rows, those with the smallest scores, may be turned over; of a quarter
# of all rows where that is more. Chosen.
NEAREST_ROWS = 300

# With more rows x parameters, predictions are not fixed row by row, as each row is a constraint of its
# own; the second number holds where rows are few beside parameters (`is_wide`). Chosen.
MAX_DENSE_ENTRIES, MAX_DENSE_ENTRIES_IF_WIDE = 2_000_000, 50_000_000

# Steps of the solver for one pattern of predictions, at the most. Chosen.
MAX_STEPS_PER_PATTERN = 300

# Nodes of the integer program that chooses the predictions to turn over, at the most. Chosen.
MAX_NODES = 200

# Rows whose scores differ by less, relative to the largest score, are turned over together: their
# features are the same, but for rounding errors.
SAME_SCORE = 1e-10

# The scores of fixed predictions stay this far from 0, so that rounding errors do not turn them over
# again. Chosen; the verdict names it.
MARGIN = 1e-3

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
    matrix = None if is_wide(problem) else _matrix(problem)
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
        positive = _turned(problem, rows, scores, fit, runner)  # 1
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
    terms = fixed_predictions(Terms(rows.sums, problem.combination), positive, MARGIN, beside)
    fixed = LearningProblem.of(rows.model, terms, domain=problem.domain, l2=problem.l2)
    result = runner.solve(fixed, fit.x, max_steps=MAX_STEPS_PER_PATTERN)
    if result.status is Status.CONVERGED:
        convex = fixed.facts.convex is True
        claim = "has the least objective" if convex else "meets the optimality conditions"
        message = FIXED.format(margin=MARGIN, claim=claim)
        result = result.judged(Verdict(Status.CONVERGED, near=result.near, claim=message))
    return measure(problem, result, fit.allowed, fixed)


def _matrix(problem: LearningProblem) -> np.ndarray:
    """Return the matrix that makes scores of parameters."""
    push = problem.rows.scored(np.zeros(problem.dim)).push
    assert push is not None
    units = (np.eye(1, problem.dim, j)[0] for j in range(problem.dim))
    return np.column_stack([push(unit) for unit in units])


def _turned(
    problem: LearningProblem,
    rows: MemorySums,
    scores: np.ndarray,
    fit: Candidate,
    runner: Runner,
) -> np.ndarray | None:
    """Return the nearest predictions that meet the bounds: a small integer program.

    Rows that count alike form a cell. Only the number turned over in each cell is an integer; the
    cheapest rows of a cell are turned first by themselves.
    """
    positive, counted = scores > 0, fit.allowed <= COUNTED
    nearest = np.argsort(np.abs(scores), kind="stable")[: max(NEAREST_ROWS, scores.size // 4)]
    near = scores[nearest]
    rounded = np.round(near / (SAME_SCORE * max(float(np.abs(scores).max()), 1e-300)))
    _, alike = np.unique(rounded, return_inverse=True)  # the same features: turned together
    n = int(alike.max()) + 1
    sums = _indicator(alike, n)
    turned = problem.combination.coefficients[1:] @ rows.sums.turned(positive)
    effects = turned[counted][:, nearest] @ sums.T
    effects, room = _scaled(effects.toarray(), -fit.counted[counted])
    cells, cell = np.unique(effects.round(12), axis=1, return_inverse=True)
    k, cost = cells.shape[1], sums @ np.abs(near)
    cost = cost / max(float(cost.mean()), 1e-300)  # where all scores are 0, each row is as cheap
    options = {"node_limit": MAX_NODES, "mip_rel_gap": 1e-3}
    options["presolve"] = False  # with presolve, HiGHS may print
    if np.isfinite(runner.budget.remaining):
        options["time_limit"] = max(runner.budget.remaining, 1e-3)
    answer = interruptible(
        milp,
        np.concatenate((cost + 1e-3, np.zeros(k))),
        integrality=np.repeat([0, 1], (n, k)),
        bounds=Bounds(0.0, np.concatenate((np.ones(n), np.full(k, np.inf)))),
        constraints=[
            LinearConstraint(
                sparse.hstack((_indicator(cell.ravel(), k), -sparse.eye_array(k))), 0.0, 0.0
            ),
            LinearConstraint(np.hstack((np.zeros((len(room), n)), cells)), ub=room),
        ],
        options=options,
    )
    if answer.x is None:
        return None
    positive[nearest] ^= (answer.x[:n] > 0.5)[alike]
    return positive


def _indicator(places: np.ndarray, count: int) -> sparse.csr_array:
    """Return the matrix (count, n) that sums what has the same place."""
    n = places.size
    return sparse.csr_array((np.ones(n), (places, np.arange(n))), shape=(count, n))


def _scaled(effects: np.ndarray, room: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return effects of size 1: the tolerances of an integer program are absolute."""
    scale = np.maximum(np.abs(effects).max(axis=1, initial=0.0), 1e-12)
    return effects / scale[:, None], room / scale


def _exists(matrix: np.ndarray, positive: np.ndarray) -> bool:
    """Return whether some linear model makes these predictions: a linear program."""
    signed = np.where(positive, -1.0, 1.0)[:, None] * matrix
    zero, ones = np.zeros(matrix.shape[1]), np.ones(len(matrix))
    answer = interruptible(linprog, zero, signed, -ones, bounds=(None, None))
    return answer.status == 0
