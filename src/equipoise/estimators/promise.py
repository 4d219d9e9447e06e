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

Run = Callable[[LearningProblem, np.ndarray], Result]


def keep(problem: LearningProblem, x0: np.ndarray, run: Run, allowed: np.ndarray) -> Kept:
    """Fit so that the bounds hold on counted rates, at little loss.

    1. solve the smooth problem; stop if the bounds hold by counting and are used up
    2. for each sharpness, a few times: shift <- counted - smooth at the current model (damped);
       solve again, from the current model
    3. of all models whose counted rates meet the bounds, return the one with the least objective
    4. if there is none, or none that is certified: move the threshold of the models that came
       closest until the bounds hold, and solve once more from there
    5. if that fails too, return the model with the least violation

    Parameters
    ----------
    problem : LearningProblem
    x0 : array of shape (dim,)
    run : callable
        Solves a problem from a starting point.
    allowed : array of shape (m,)
        See `Kept`.
    """
    tried = [measure(problem, run(problem, x0), allowed)]  # 1
    if _settled(tried[0]):
        return tried[0]
    for sharpness in SHARPNESS:  # 2
        sharp = problem.with_terms(problem.terms.with_(sharpness=sharpness))
        x, shift = min(tried, key=_rank).result.x, None
        for attempt in range(ROUNDS):
            gap = gap_at(sharp, x)
            shift = gap if shift is None else 0.5 * (shift + gap)
            if attempt == ROUNDS - 1 and not any(fit.kept for fit in tried):
                shift = shift + 1.5 * tried[-1].violation  # rather too tight than broken
            shifted = sharp.with_terms(sharp.terms.with_(shift=shift))
            tried.append(measure(problem, run(shifted, x), allowed, shifted))
            if _settled(tried[-1]) or tried[-1].result.status is Status.INFEASIBLE:
                break
            x = tried[-1].result.x
        if min(tried, key=_rank).certified:
            break
    if not min(tried, key=_rank).certified:  # 4
        tried += _repaired(problem, tried, run, allowed)
    return replace(min(tried, key=_rank), rounds=len(tried))  # 3, 5


def _repaired(
    problem: LearningProblem, tried: list[Kept], run: Run, allowed: np.ndarray
) -> list[Kept]:
    """Return models that meet the bounds by a moved threshold, and what a solver makes of the best."""
    closest = sorted((fit for fit in tried if not fit.kept), key=_rank)[:3]
    moved = [fit for near in closest if (fit := move_threshold(problem, near)) is not None]
    if not moved:
        return []
    best = min(moved, key=_rank)
    again = measure(problem, run(best.problem, best.result.x), allowed, best.problem)
    return [*moved, again]


def _settled(fit: Kept) -> bool:
    """Whether the bounds hold by counting, and loosening the smooth ones would gain little."""
    binding = fit.result.multipliers > 1e-9
    return fit.certified and bool(not binding.any() or fit.true[binding].max() >= -CLOSE)


def _rank(fit: Kept) -> tuple[bool, bool, float]:
    """Kept bounds first, then a certified point, then the objective."""
    return not fit.kept, not fit.certified, fit.objective if fit.kept else fit.violation
