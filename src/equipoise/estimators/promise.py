"""Keeping the promise: bounds that hold on thresholded rates, not only on smooth ones.

Training sees smooth rates (sigmoids); the user counts predictions. The difference of the two at the
current model is added to the smooth constraints as a shift, and the problem solved again from there:
at a fixed point the shifted smooth rates are the counted ones. Sharper sigmoids differ less, and are
used where the plain ones do not settle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from equipoise.estimators.counting import Kept, gap_at, measure, move_threshold
from equipoise.problems.learning import LearningProblem
from equipoise.run import Result
from equipoise.status import Status

SHARPNESS = (1.0, 3.0, 6.0, 12.0)
ROUNDS = 5  # of shifting, at each sharpness
CLOSE = 2e-3  # a bound met with less than this to spare is used up

Run = Callable[[LearningProblem, np.ndarray, Result | None, bool], Result]


def keep(
    problem: LearningProblem,
    x0: np.ndarray,
    run: Run,
    allowed: np.ndarray,
    *,
    near: Result | None = None,
) -> Kept:
    """Fit so that the bounds hold on counted rates, at little loss.

    1. solve the smooth problem roughly; go to 4 if the bounds hold by counting and are used up
    2. for each sharpness, a few times: shift <- counted - smooth at the current model (damped);
       solve roughly again, from the current model; go to 4 if the bounds hold and are used up
    3. of all models whose counted rates meet the bounds, take the one with the least objective
    4. solve its problem to the end; stop if the bounds still hold by counting
    5. if there is no such model: move the threshold of the models that came closest until the
       bounds hold, and solve once more from there
    6. if that fails too, return the model with the least violation

    Parameters
    ----------
    problem : LearningProblem
    x0 : array of shape (dim,)
    run : callable
        Solves a problem from a starting point, with the result of a similar problem or None;
        roughly if asked to.
    allowed : array of shape (m,)
        See `Kept`.
    near : Result, optional
        Of nearly the same problem, at `x0`: line 1 then already shifts by what is known there.
    """
    first = problem
    if near is not None:
        shift = gap_at(problem, x0) + 0.5 * CLOSE
        first = problem.with_terms(problem.terms.with_(shift=shift))
    tried: list[Kept] = []

    def solved(shifted: LearningProblem, x: np.ndarray, last: Result | None, rough: bool) -> Kept:
        tried.append(measure(problem, run(shifted, x, last, rough), allowed, shifted))
        return tried[-1]

    def finished(fit: Kept) -> bool:
        """Whether the fit still keeps its bounds when solved to the end (line 4)."""
        return fit.kept and solved(fit.problem, fit.result.x, fit.result, False).certified

    fit = solved(first, x0, near, True)  # 1
    if _settled(fit) and finished(fit):
        return replace(tried[-1], rounds=len(tried))
    for sharpness in SHARPNESS:  # 2
        sharp = problem.with_terms(problem.terms.with_(sharpness=sharpness))
        last, shift = min(tried, key=_rank).result, np.zeros(0)
        for attempt in range(ROUNDS):
            gap = gap_at(sharp, last.x) + 0.5 * CLOSE  # aim between used up and broken
            shift = 0.5 * (shift + gap) if attempt else gap
            if attempt == ROUNDS - 1 and not any(fit.kept for fit in tried):
                shift = shift + 1.5 * tried[-1].violation  # rather too tight than broken
            shifted = sharp.with_terms(sharp.terms.with_(shift=shift))
            fit = solved(shifted, last.x, last, True)
            if _settled(fit) and finished(fit):
                return replace(tried[-1], rounds=len(tried))
            if fit.result.status is Status.INFEASIBLE:
                break
            last = fit.result
        if finished(min(tried, key=_rank)):  # 3
            return replace(tried[-1], rounds=len(tried))
    tried += _repaired(problem, tried, run, allowed)  # 5
    return replace(min(tried, key=_rank), rounds=len(tried))  # 6


def _repaired(
    problem: LearningProblem, tried: list[Kept], run: Run, allowed: np.ndarray
) -> list[Kept]:
    """Return models that meet the bounds by a moved threshold, and what a solver makes of the best."""
    closest = sorted((fit for fit in tried if not fit.kept), key=_rank)[:3]
    moved = [fit for near in closest if (fit := move_threshold(problem, near)) is not None]
    if not moved:
        return []
    best = min(moved, key=_rank)
    again = measure(problem, run(best.problem, best.result.x, None, False), allowed, best.problem)
    return [*moved, again]


def _settled(fit: Kept) -> bool:
    """Whether the bounds hold by counting, and loosening the smooth ones would gain little."""
    binding = fit.result.multipliers > 1e-9
    return fit.certified and bool(not binding.any() or fit.true[binding].max() >= -CLOSE)


def _rank(fit: Kept) -> tuple[bool, bool, float]:
    """Kept bounds first, then a certified point, then the objective."""
    return not fit.kept, not fit.certified, fit.objective if fit.kept else fit.violation
