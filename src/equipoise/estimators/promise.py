"""Keeping the promise: bounds that hold on thresholded rates, not only on smooth ones.

Training sees smooth rates (sigmoids); the user counts predictions. The difference of the two at the
current model is added to the smooth constraints as a shift, and the problem solved again from there:
at a fixed point the shifted smooth rates are the counted ones. The sigmoids are as sharp as the scores
of the model without constraints ask for; sharper ones are used where these do not settle.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from equipoise.estimators.counting import (
    Kept,
    Plain,
    counted_at,
    gap_at,
    grain,
    is_constant,
    measure,
)
from equipoise.estimators.repair import Run, is_wide, repaired, turned_over
from equipoise.estimators.secant import Secant
from equipoise.estimators.threshold import with_threshold
from equipoise.problems.learning import LearningProblem
from equipoise.run import Result

SPREAD = 4.0  # standard deviation of the scores, in widths of the sigmoids
SHARPER = (1.0, 3.0, 6.0, 12.0)
ROUNDS = 5  # of shifting, at each sharpness
AGAIN = 2  # tries to mend a bound that breaks when a problem is solved to the end
CLOSE = 2e-3, 5e-3  # what may be left of a bound, least and most: the share of so many
ROWS = 6  # rows in a counted rate
STAY = 0.75, 1.25  # x this: what a model may have to spare to go on from it as it is
LITTLE = 0.01  # what using up the other bounds may gain where one is, relative to the objective
NEGLIGIBLE = 0.003  # what using up bounds may gain anyway


def keep(
    problem: LearningProblem,
    x0: np.ndarray,
    run: Run,
    allowed: np.ndarray,
    *,
    plain: Plain | None = None,
    near: Result | None = None,
) -> Kept:
    """Fit so that the bounds hold on counted rates, at little loss.

    1. shift <- half of counted - smooth at the model without constraints; solve roughly; go to 5
       if the bounds hold by counting and are used up
    2. where rows are few beside parameters, predictions can be chosen at will: turn over those that
       are the cheapest to turn, so that the bounds hold by counting, and solve for the best model
       that makes them; done if it is certified
    3. for each sharpness, a few times: shift <- counted - smooth at the current model, by the secant
       rule; solve roughly again, from the current model; go to 5 if the bounds hold and are used up
    4. of all models whose counted rates meet the bounds, take the one with the least objective; try
       the next sharpness first if much would be gained by using up its bounds
    5. solve its problem to the end, twice more with a new shift if a bound breaks on the way; stop
       if all hold by counting, and not just because all predictions have become the same
    6. if there is no such model: repair the predictions of those tried, or give a verdict

    Parameters
    ----------
    problem : LearningProblem
    x0 : array of shape (dim,)
    run : callable
        Solves a problem from a starting point, with the result of a similar problem or None;
        roughly if asked to.
    allowed : array of shape (m,)
        See `Kept`.
    plain : Plain, optional
        The model without constraints. Without it, sigmoids are plain at first and not shifted.
    near : Result, optional
        Of nearly the same problem, at `x0`: line 1 then shifts by all that is missing there, so
        that a model that keeps its bounds stays, and nothing is solved roughly.
    """
    start = 1.0 if plain is None else _sharpness(plain.spread)
    first, close = _sharpened(problem, start), np.clip(ROWS * grain(problem), *CLOSE)
    if near is not None:
        true = counted_at(problem, x0)
        spare = np.clip(-true, *np.outer(STAY, close))
        first = first.shifted(gap_at(first, x0, true) + spare)
    elif plain is not None:
        first = first.shifted(0.5 * gap_at(first, plain.x))
    tried: list[Kept] = []

    def solved(shifted: LearningProblem, x: np.ndarray, last: Result | None, rough: bool) -> Kept:
        if tried:  # what a run learned of the Hessian helps the next one; it is large
            tried[-1] = replace(tried[-1], result=replace(tried[-1].result, state=None))
        tried.append(measure(problem, run(shifted, x, last, rough), allowed, shifted))
        return tried[-1]

    rough = near is None
    constant = plain is not None and is_constant(problem, plain.x)

    def useful(fit: Kept) -> bool:
        """Whether bounds hold not just because all predictions have become the same."""
        return constant or not is_constant(problem, fit.result.x)

    def finished(fit: Kept) -> bool:
        """Whether the fit still keeps its bounds when solved to the end (line 5)."""
        if not rough and fit is tried[-1]:
            return fit.certified and useful(fit)
        if not (fit.kept and useful(fit)):
            return False
        end = solved(fit.problem, fit.result.x, fit.result, False)
        for _ in range(AGAIN):
            if end.kept or not end.result.success:
                break
            shifted = end.problem.shifted(_aim(end.problem, end, close))
            end = solved(shifted, end.result.x, end.result, False)
        return end.certified and useful(end)

    fit = solved(first, x0, near, rough)  # 1
    if _settled(fit, close) and finished(fit):
        return replace(tried[-1], rounds=len(tried))
    if is_wide(problem):  # 2
        for given in (fit,) if plain is None else (measure(problem, plain.result, allowed), fit):
            turned = turned_over(problem, [given], run)
            if turned and turned[0].certified:
                return replace(turned[0], rounds=len(tried) + 1)
    for sharper in SHARPER:  # 3
        sharp = _sharpened(problem, sharper * start)
        fit = min(tried, key=Kept.rank)
        last, search = fit.result, Secant(_aim(sharp, fit, close))
        for attempt in range(ROUNDS):
            shift = search.shift
            if attempt == ROUNDS - 1 and not any(fit.kept for fit in tried):
                shift = shift + 1.5 * tried[-1].violation  # rather too tight than broken
            fit = solved(sharp.shifted(shift), last.x, last, rough)
            if _settled(fit, close) and finished(fit):
                return replace(tried[-1], rounds=len(tried))
            last = tried[-1].result
            if not last.success:
                break
            aim = _aim(sharp, tried[-1], close)
            if is_constant(problem, last.x):  # counted rates say nothing of the shift
                search = Secant(aim)
            else:
                search.see(aim)
        best = min(tried, key=Kept.rank)
        if _gain(best) <= LITTLE and finished(best):  # 4
            return replace(tried[-1], rounds=len(tried))
    if finished(min(tried, key=Kept.rank)):
        return replace(tried[-1], rounds=len(tried))
    return repaired(problem, tried, run, allowed, constant=plain is not None)  # 6


def _sharpness(spread: float) -> float:
    """Return how sharp sigmoids must be for most scores to lie where they are nearly steps."""
    return float(np.clip(SPREAD / max(spread, 1e-300), 1.0, 10.0))


def _sharpened(problem: LearningProblem, sharpness: float) -> LearningProblem:
    if sharpness == 1.0 or problem.n_constraints == 0:
        return problem
    return problem.sharpened(sharpness)


def _aim(sharp: LearningProblem, fit: Kept, close: np.ndarray) -> np.ndarray:
    """Counted minus smooth constraint values, and a little: between used up and broken.

    Of a model that predicts the same of all rows, where it has another threshold.
    """
    x, true = fit.result.x, fit.true
    if fit.kept and is_constant(sharp, x):
        moved = with_threshold(sharp, x, fit.allowed)
        x, true = (x, true) if moved is None else (moved, counted_at(sharp, moved))
    return gap_at(sharp, x, true) + 0.5 * close


def _settled(fit: Kept, close: np.ndarray) -> bool:
    """Whether the bounds hold by counting, and loosening the smooth ones would gain little."""
    if not fit.certified:
        return False
    used_up = bool((fit.true >= -1.5 * close)[fit.prices > 1e-9].any())
    return _gain(fit) <= (LITTLE if used_up else NEGLIGIBLE)


def _gain(fit: Kept) -> float:
    """What using up the bounds would gain, to first order and relative to the objective."""
    return float(fit.prices @ np.maximum(-fit.true, 0.0)) / max(abs(fit.objective), 1e-300)
