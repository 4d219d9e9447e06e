"""Repair: from models that break a bound to predictions that meet all, and the best model of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from equipoise.estimators.counting import (
    COUNTED,
    Kept,
    is_constant,
    measure,
    prediction_scores,
    used_rows,
)
from equipoise.estimators.threshold import move_threshold
from equipoise.problems.learning import LearningProblem
from equipoise.run import Result
from equipoise.sets import L2Ball
from equipoise.status import Status
from equipoise.terms import RateTerms, flip_effects, pattern_terms

RADIUS = 50.0  # of the ball in which the violation is minimised: sigmoids there are nearly steps
MODELS = 8  # repaired predictions that are looked at
NEAREST = 300  # rows whose predictions may be turned over, or a quarter of all
MOST = 2_000_000  # rows x parameters, beyond which predictions are not fixed row by row
MOST_IF_WIDE = 50_000_000  # the same for wide data
STEPS = 300  # of a solver, for one pattern of predictions
NODES = 200  # of an integer program
ALIKE = 1e-10  # scores that differ by less, relative to the largest, are turned together
MARGIN = 1e-3  # how far from 0 the scores of fixed predictions stay
FIXED = (
    "Converged: of all models with the same predictions (and every score at least {margin:g} from 0) "
    "the one returned {claim}. All bounds hold on the counted rates."
)
ROUGHLY = (
    "The bounds hold on the counted rates. The certificate says how far the model is from optimal."
)
SMOOTH_ONLY = (
    "The bounds can be met on smooth rates, but no model was found that meets them on counted ones; "
    "the one returned comes closest."
)

Run = Callable[..., Result]


def repaired(
    problem: LearningProblem,
    tried: list[Kept],
    run: Run,
    allowed: np.ndarray,
    constant: bool = True,
) -> Kept:
    """Return a model that keeps the bounds where those tried do not, or else a verdict.

    1. minimise the violation of the smooth bounds in a large ball, from the closest model
    2. for this model and those tried, the least objective first: turn over the predictions that
       are the cheapest to turn (by |score|), so that all bounds hold by counting
    3. if a linear model makes such predictions: solve for the one of least objective that does; of
       all these, return the best
    4. if there is none: move the thresholds of the closest models, and do 2 and 3 for them
    5. if `constant`: do 3 for predictions that are all the same, too
    6. if that fails too: the model of line 1 with its verdict, if it breaks a smooth bound; else the
       closest one
    """
    closest = sorted(tried, key=Kept.rank)
    least = _least_violation(problem, closest[0], run, allowed)  # 1
    solved = turned_over(
        problem, sorted([least, *tried], key=lambda fit: fit.objective), run
    )  # 2, 3
    kept = [_judged(fit, least.result.tol) for fit in (*tried, *solved) if fit.kept]
    if not any(fit.certified for fit in kept):  # 4
        moved = [move_threshold(problem, fit) for fit in (least, *closest[:MODELS])]
        kept += [fit for fit in moved if fit is not None]
        again = turned_over(problem, kept, run)
        solved, kept = solved + again, kept + [fit for fit in again if fit.kept]
    if constant:  # 5
        same = _constant(problem, closest[0], run)
        solved, kept = solved + same, kept + [fit for fit in same if fit.kept]
    else:
        kept = [fit for fit in kept if not is_constant(problem, fit.result.x)] or kept
    fit = min(kept, key=Kept.rank) if kept else _verdict(closest[0], least)  # 6
    return replace(fit, rounds=len(tried) + 1 + len(solved))


def _verdict(closest: Kept, least: Kept) -> Kept:
    """Return the model that breaks the bounds least, with what is known of them."""
    if not least.result.success:
        return least
    result = replace(closest.result, status=Status.STALLED, message=SMOOTH_ONLY, near=None)
    return replace(closest, result=replace(result, blocking={}))


def _judged(fit: Kept, tol: float) -> Kept:
    """Return the fit without a claim it does not bear out: optimal if solved only roughly, or infeasible."""
    if fit.result.tol <= tol and fit.result.status is not Status.INFEASIBLE:
        return fit
    result = replace(fit.result, status=Status.FEASIBLE, message=ROUGHLY, blocking={}, near=None)
    return replace(fit, result=result)


def _least_violation(problem: LearningProblem, fit: Kept, run: Run, allowed: np.ndarray) -> Kept:
    """Solve in a ball: there penalties outgrow the objective before the weights do."""
    domain = problem.domain if np.isfinite(problem.domain.diameter) else L2Ball(RADIUS)
    ball = LearningProblem(problem.model, problem.terms, domain=domain, l2=problem.l2)
    return measure(problem, run(ball, domain.project(fit.result.x), None, False), allowed, ball)


def is_wide(problem: LearningProblem) -> bool:
    """Whether there are linear models for most predictions of the rows (Cover 1965)."""
    return problem.model.n_rows <= 2 * problem.dim


def turned_over(problem: LearningProblem, models: Sequence[Kept], run: Run) -> list[Kept]:
    """Return the best models with the repaired predictions of `models`: lines 2 and 3 of `repaired`."""
    if not _can_fix(problem, models):
        return []
    rows = None if is_wide(problem) else _rows(problem)
    seen: set[bytes] = set()
    patterns: dict[bytes, Kept | None] = {}
    used = used_rows(problem)
    for fit in models:
        scores = prediction_scores(problem.model, fit.result.x)
        if (scores > 0).tobytes() in seen or len(patterns) == MODELS or len(seen) == 2 * MODELS:
            continue
        seen.add((scores > 0).tobytes())
        positive = _turned(problem.terms, scores, fit)  # type: ignore[arg-type]
        # a classifier that says the same of everyone meets many bounds, and is of no use
        if positive is None or positive[used].all() or not positive[used].any():
            continue
        if (key := positive.tobytes()) not in patterns:
            possible = rows is None or _exists(rows, positive)
            patterns[key] = _best_with(problem, positive, fit, run) if possible else None
    return [fit for fit in patterns.values() if fit is not None]


def _can_fix(problem: LearningProblem, models: Sequence[Kept]) -> bool:
    """Whether predictions can be fixed row by row."""
    most = MOST_IF_WIDE if is_wide(problem) else MOST
    small = problem.model.n_rows * problem.dim <= most
    counted = any((fit.allowed <= COUNTED).any() for fit in models)
    return bool(small and counted and problem.facts.smooth and isinstance(problem.terms, RateTerms))


def _constant(problem: LearningProblem, fit: Kept, run: Run) -> list[Kept]:
    """Return the best model that predicts the more frequent class of all rows, if that meets the bounds."""
    if not _can_fix(problem, [fit]) or problem.model.penalised[-1] != 0:
        return []
    intercepts = (sign * np.eye(problem.dim)[-1] for sign in (-1.0, 1.0))
    for x in sorted(intercepts, key=lambda x: float(problem.at(x).values[0])):
        if (problem.terms.hard(problem.model.scores(x))[1:] <= fit.allowed).all():
            return [_best_with(problem, np.full(problem.model.n_rows, x[-1] > 0), fit, run)]
    return []


def _rows(problem: LearningProblem) -> np.ndarray:
    """Return the matrix that makes scores of parameters."""
    units = (np.eye(1, problem.dim, j)[0] for j in range(problem.dim))
    return np.column_stack([problem.model.push(unit) for unit in units])


def _turned(terms: RateTerms, scores: np.ndarray, fit: Kept) -> np.ndarray | None:
    """Return the nearest predictions that meet the bounds: a small integer program.

    Rows that count alike form a cell. Only the number turned over in each cell is an integer; the
    cheapest rows of a cell are turned first by themselves.
    """
    positive, counted = scores > 0, fit.allowed <= COUNTED
    nearest = np.argsort(np.abs(scores), kind="stable")[: max(NEAREST, scores.size // 4)]
    near = scores[nearest]
    rounded = np.round(near / (ALIKE * max(float(np.abs(scores).max()), 1e-300)))
    _, alike = np.unique(rounded, return_inverse=True)  # the same features: turned together
    n = int(alike.max()) + 1
    sums = _indicator(alike, n)
    effects = flip_effects(terms, positive)[counted][:, nearest] @ sums.T
    effects, room = _scaled(effects.toarray(), -fit.true[counted])
    cells, cell = np.unique(effects.round(12), axis=1, return_inverse=True)
    k, cost = cells.shape[1], sums @ np.abs(near)
    answer = milp(
        np.concatenate((cost / cost.mean() + 1e-3, np.zeros(k))),
        integrality=np.repeat([0, 1], (n, k)),
        bounds=Bounds(0.0, np.concatenate((np.ones(n), np.full(k, np.inf)))),
        constraints=[
            LinearConstraint(
                sparse.hstack((_indicator(cell.ravel(), k), -sparse.eye_array(k))), 0.0, 0.0
            ),
            LinearConstraint(np.hstack((np.zeros((len(room), n)), cells)), ub=room),
        ],
        # with presolve, HiGHS may print
        options={"node_limit": NODES, "mip_rel_gap": 1e-3, "presolve": False},
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


def _exists(rows: np.ndarray, positive: np.ndarray) -> bool:
    """Return whether some linear model makes these predictions: a linear program."""
    signed = np.where(positive, -1.0, 1.0)[:, None] * rows
    answer = linprog(np.zeros(rows.shape[1]), signed, -np.ones(len(rows)), bounds=(None, None))
    return answer.status == 0


def _best_with(problem: LearningProblem, positive: np.ndarray, fit: Kept, run: Run) -> Kept:
    """Return the model of least objective among those with these predictions."""
    beside = np.flatnonzero(fit.allowed > COUNTED).tolist()
    terms = pattern_terms(problem.terms, positive, MARGIN, beside)  # type: ignore[arg-type]
    fixed = LearningProblem(problem.model, terms, domain=problem.domain, l2=problem.l2)
    result = run(fixed, fit.result.x, None, False, STEPS)
    if result.status is Status.CONVERGED:
        convex = fixed.facts.convex is True
        claim = "has the least objective" if convex else "meets the optimality conditions"
        result = replace(result, message=FIXED.format(margin=MARGIN, claim=claim))
    return measure(problem, result, fit.allowed, fixed)
