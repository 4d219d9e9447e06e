"""Simple models: other thresholds of the scores at hand, and the two constants.

No fit is worse than these. They are looked at where a search found no model that keeps its bounds, or one
that is less accurate than the model without constraints.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equipoise._status import Status
from equipoise.certificate import certify
from equipoise.estimators._counted.candidate import Candidate, counted_minus_smooth, measure
from equipoise.estimators._counted.fixed import best_with, is_fixed
from equipoise.estimators._counted.search import BudgetSpentError, Search
from equipoise.estimators._counted.shifting import (
    STAY_WITHIN,
    finished,
    sharpened,
    sharpness_for,
)
from equipoise.estimators._counted.sweep import swept
from equipoise.estimators._counted.threshold import MOVED
from equipoise.run import Verdict

# By how much less often a simple model must be wrong to take the place of the one found. The second number
# holds beside an optimal model, as the simple one is not optimal for any objective. Chosen.
WORSE, WORSE_IF_OPTIMAL = 0.01, 0.08
MOST_MODELS = 8  # whose thresholds are looked at
# Beside an optimal model, which is rarely far behind, only the thresholds of two models are looked at: the
# model without constraints, and the optimal one itself. Chosen.
FEW_MODELS = 2
# Thresholds of each that are looked at then. Chosen: neighbours differ by a few rows in ten thousand, and a
# model that takes the place of an optimal one must be better by far more.
FEW_THRESHOLDS = 1 << 12
INTERCEPTS = (1e-3, 0.01, 0.1, 0.3, 1.0, 2.0, 3.0, 5.0)  # of a constant; the best one is taken
SAME_OF_ALL = (
    "The bounds hold by counting, as every row is predicted alike. The certificate says how far the model is "
    "from optimal."
)


@dataclass(frozen=True)
class Simple:
    """A simple model that keeps all bounds, and its share of wrong predictions."""

    x: np.ndarray
    error: float
    claim: str

    def candidate(self, search: Search, multipliers: np.ndarray | None = None) -> Candidate:
        """Return it as a model of the search, with a certificate; `multipliers` are fitted if not given."""
        problem, last = search.problem, search.tried[-1].result
        shifted = problem.shifted(counted_minus_smooth(problem, self.x))
        verdict = Verdict(Status.FEASIBLE, claim=self.claim)
        result = last.judged(
            verdict,
            x=self.x,
            certificate=certify(shifted, self.x, multipliers, second_order=False),
            state=None,
        )
        return measure(problem, result, search.allowed, shifted)


def no_worse_than_simple(search: Search, found: Candidate) -> Candidate:
    """Return the model found, or one that is more accurate and starts from a simple one.

    1. keep the model if it keeps its bounds and is about as accurate as the one without constraints
    2. of the simple models that keep the bounds take the most accurate
    3. solve for the model next to it that uses up its bounds; keep that if it is about as accurate
    4. where the model found is the best one that makes its predictions: the same of the simple one's
    """
    if found.result.status is Status.INFEASIBLE:
        return found  # it is proved that there is no other
    own = search.error(found.x) if found.keeps_bounds else np.inf
    gain = _gain(search, found)
    if found.keeps_bounds and not (search.judges_errors and own > search.least_error + gain):
        return found  # 1
    simple = best_simple(search, found, own - gain)  # 2
    if simple is None:
        return found
    near = next_to_or_itself(search, simple)  # 3
    if not near.certified and is_fixed(found):
        near = _fixed(search, near)  # 4
    return replace(near, problems_solved=found.problems_solved)


def next_to_or_itself(search: Search, simple: Simple) -> Candidate:
    """Return the model next to a simple one that uses up its bounds, if it is about as accurate."""
    near = _next_to(search, simple) if simple.claim == MOVED else None
    slack = 0.0 if search.asks_errors else 0.5 * WORSE
    if near is None or search.error(near.x) > simple.error + slack:
        return simple.candidate(search)
    return near


def _fixed(search: Search, simple: Candidate) -> Candidate:
    """Return the best model with the predictions of a simple one; the simple one if it is not certified.

    Nor where keeping scores away from 0 costs more than being optimal gains, as near a tie of scores.
    """
    positive = search.problem.rows.gathered().model.predicted(simple.x) > 0
    best = best_with(search.problem, positive, simple, search.runner)
    return best if best.certified and best.objective <= simple.objective else simple


def _is_optimal(found: Candidate) -> bool:
    """Whether the model is optimal under its bounds, and not only among those of the same predictions.

    Predictions that are held say little of the objective: all alike, they can cost next to nothing.
    """
    return found.certified and not is_fixed(found)


def _gain(search: Search, found: Candidate) -> float:
    """Return by how much less a simple model must be wrong to take the place of the one found."""
    if search.asks_errors:
        return 0.0
    return WORSE_IF_OPTIMAL if _is_optimal(found) else WORSE


def best_simple(
    search: Search, found: Candidate | None = None, below: float = np.inf
) -> Simple | None:
    """Return the most accurate simple model that keeps all bounds; constants only if much better.

    None where none has an error below the given one.
    """
    problem, allowed = search.problem, search.allowed
    if problem.rows.penalised[-1] != 0:  # no intercept: no other threshold
        return _without_weights(search, below)
    models = [] if search.unconstrained is None else [search.unconstrained.x]
    models += [search.start] if found is None else [search.start, found.x]
    models += [fit.x for fit in sorted(search.tried, key=lambda fit: fit.violation)]
    if problem.dim == 2:  # one feature: all that is left is to turn it round
        models.insert(0, np.array([-1.0, 0.0]))
        models.insert(0, np.array([1.0, 0.0]))
    best: Simple | None = None
    optimal = found is not None and _is_optimal(found)
    most = FEW_THRESHOLDS if optimal and not search.asks_errors else None
    for x in _distinct(models)[: FEW_MODELS if optimal else MOST_MODELS]:
        sweep = swept(problem, x, allowed, search.class_factors, most)
        better = sweep.best(problem, allowed, below)
        if better is not None:
            below, best = better[0], Simple(better[1], better[0], MOVED)
    for sign in (-1.0, 1.0):
        needed = below if best is None else below - WORSE
        constant = _constant(search, sign) if search.constant_error(sign > 0) < needed else None
        if constant is not None:
            below, best = constant.error, constant
    return best


def _constant(search: Search, sign: float) -> Simple | None:
    """Return the best model without weights that predicts one class, if it keeps the bounds."""
    problem = search.problem
    units = [sign * size * np.eye(1, problem.dim, problem.dim - 1)[0] for size in INTERCEPTS]
    if not (problem.thresholded(units[0])[1:] <= search.allowed).all():
        return None
    x = min(units, key=lambda unit: problem.at(unit).objective)
    if not (problem.thresholded(x)[1:] <= search.allowed).all():  # losses follow the scores
        x = units[0]
    return Simple(x, search.error(x), SAME_OF_ALL)


def _without_weights(search: Search, below: float) -> Simple | None:
    """Return the only constant there is without an intercept, all scores 0, if it keeps the bounds."""
    x = np.zeros(search.problem.dim)
    kept = (search.problem.thresholded(x)[1:] <= search.allowed).all()
    error = search.error(x)
    return Simple(x, error, SAME_OF_ALL) if kept and error < below else None


def _next_to(search: Search, simple: Simple) -> Candidate | None:
    """Return the model that a problem shifted to hold at a simple one leads to, if it is certified."""
    if search.runner.budget.wish is not None:
        return None
    sharp = sharpened(search.problem, sharpness_for(search))
    counted = search.problem.thresholded(simple.x)[1:]
    spare = np.clip(-counted, *np.outer(STAY_WITHIN, search.spare))
    shift = counted_minus_smooth(sharp, simple.x, counted) + spare
    try:
        fit = search.solve(sharp.shifted(shift), simple.x, None, search.rough)
        return finished(search, fit) if fit.keeps_bounds else None
    except BudgetSpentError:
        return None


def _distinct(models: list[np.ndarray]) -> list[np.ndarray]:
    return list({x.tobytes(): x for x in models}.values())
