"""Stages that shift the smooth constraints by what counting adds to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.estimators._counted.candidate import (
    Candidate,
    counted_at,
    counted_minus_smooth,
)
from equipoise.estimators._counted.limit import at_limit
from equipoise.estimators._counted.search import LITTLE_GAIN, NEGLIGIBLE_GAIN, Search, Stage
from equipoise.estimators._counted.secant import Secant
from equipoise.estimators._counted.threshold import with_threshold
from equipoise.problems import LearningProblem

# Sigmoids are as sharp as the scores of the model without constraints ask for: with scores of a
# standard deviation of four widths, most lie where a sigmoid is nearly a step. Without this choice a
# fit costs 27 % more (22 fits: census, COMPAS, bank, Adult, sparse, wide, 25 groups).
SPREAD_IN_WIDTHS = 4.0

# The same for AUCs, which sharper sigmoids tell more exactly and no threshold makes rough: of 4, 8 and 16
# widths, 16 gave the largest AUCs under all bounds on a9a, bank and COMPAS, in the same time.
SPREAD_IN_WIDTHS_OF_PAIRS = 16.0

# The first sharpness at the most, however small the scores are. Chosen.
MAX_FIRST_SHARPNESS = 10.0

# Where shifting does not settle, it starts anew with sigmoids that are sharper than the first by these
# factors, one after the other. Chosen.
SHARPNESS_FACTORS = (1.0, 3.0, 6.0, 12.0)

# Where no solution was found from the scores of the model without constraints, it is looked for from scores
# that are multiplied by these factors, in turn. Chosen: in each of ten problems with two features, whose
# best directions were found by trying all, the first or the second of them led to a solution.
SMALLER_SCORES = 0.3, 0.03, 0.1

# How often the shift is corrected with the same sharpness. Chosen.
SHIFTS_PER_SHARPNESS = 5

# How often the shift is corrected where a bound breaks when a rough solution is made exact. Chosen.
SHIFTS_AFTER_FINISHING = 2

# Where no model has kept its bounds so far, the last shift adds this many times the violation: a bound
# that is too tight serves better than one that is broken. Chosen.
OVERSHOOT = 1.5

# What a previous model has left of a bound is kept as it is between these multiples of `Search.spare`, so
# that the model does not move because of them. Chosen.
STAY_WITHIN = 0.75, 1.25


@dataclass(frozen=True)
class FirstShift(Stage):
    """Shift by half of what counting adds to the model without constraints, and solve.

    After a similar fit: by all that it adds there, so that a model that keeps its bounds stays.
    """

    name: ClassVar[str] = "first shift"

    def run(self, search: Search) -> Candidate | None:
        """Return the model if its bounds hold by counting and are used up."""
        first = sharpened(search.problem, sharpness_for(search))
        if search.previous is not None:
            counted = counted_at(search.problem, search.start)
            spare = np.clip(-counted, *np.outer(STAY_WITHIN, search.spare))
            shift = counted_minus_smooth(first, search.start, counted) + spare
            first = first.shifted(shift)
        elif search.unconstrained is not None:
            known = search.unconstrained.x, search.counted_free
            first = first.shifted(0.5 * counted_minus_smooth(first, *known))
        fit = search.solve(first, search.start, search.previous, search.rough)
        return finished(search, fit) if is_settled(search, fit) else None


@dataclass(frozen=True)
class SmallerScores(Stage):
    """Solve the first problem again from smaller scores, where no solution of it was found.

    Only for rules on AUCs: these do not change with the size of scores, but sigmoids of small differences
    are nearly lines, so that they mislead no method.
    """

    name: ClassVar[str] = "smaller scores"

    def run(self, search: Search) -> Candidate | None:
        """Return the model if its bounds hold by counting and are used up."""
        if search.problem.rows.uses_threshold or search.tried[-1].result.success:
            return None
        first = search.tried[-1].problem
        for scale in SMALLER_SCORES:
            fit = search.solve(first, scale * search.start, None, search.rough)
            if fit.result.success:
                return finished(search, fit) if is_settled(search, fit) else None
        return None


@dataclass(frozen=True)
class ShiftAgain(Stage):
    """Shift by counted minus smooth rates at the current model, by the secant rule, a few times.

    Attributes
    ----------
    factor : float
        How much sharper the sigmoids are than those of the first stage.
    """

    factor: float
    name: ClassVar[str] = "shifting"

    def run(self, search: Search) -> Candidate | None:
        """Return the first model that settles; else the best one, if little would be gained by more."""
        sharp = sharpened(search.problem, self.factor * sharpness_for(search))
        last = search.best.result
        secant = Secant(shift_at(search, sharp, search.best))
        for attempt in range(SHIFTS_PER_SHARPNESS):
            shift = secant.shift
            if attempt == SHIFTS_PER_SHARPNESS - 1 and not any(
                fit.keeps_bounds for fit in search.tried
            ):
                shift = shift + OVERSHOOT * search.tried[-1].violation
            fit = search.solve(sharp.shifted(shift), last.x, last, search.rough)
            last = fit.result  # the state of the one before is large
            if is_settled(search, fit) and (found := finished(search, fit)) is not None:
                return found
            last = search.tried[-1].result
            if not last.success:
                break
            missing = shift_at(search, sharp, search.tried[-1])
            if search.problem.rows.is_constant(last.x):  # counted rates say nothing of the shift
                secant = Secant(missing)
            else:
                secant.see(missing)
        best = search.best
        return finished(search, best) if best.unused <= LITTLE_GAIN else None


@dataclass(frozen=True)
class FinishBest(Stage):
    """Solve the problem of the best model so far to the end."""

    name: ClassVar[str] = "finishing"

    def run(self, search: Search) -> Candidate | None:
        """Return the model if it still keeps its bounds."""
        return finished(search, search.best, last_chance=True)


def finished(search: Search, fit: Candidate, last_chance: bool = False) -> Candidate | None:
    """Return the fit solved to the end, if it still keeps its bounds and is certified.

    Twice more with a new shift, where a bound breaks on the way; a model that then leaves more of its bounds
    than is worth leaving is only taken where it is the `last_chance`. A fit that no model can surpass is
    kept as it is.
    """
    if (best := at_limit(search, fit)) is not None and search.is_useful(best):
        return best
    if not search.rough and fit is search.tried[-1]:
        return fit if fit.certified and search.is_useful(fit) else None
    if not (fit.keeps_bounds and search.is_useful(fit)) or search.has_ended(fit):
        return None
    end = search.solve(fit.problem, fit.x, fit.result, False)
    for _ in range(SHIFTS_AFTER_FINISHING):
        if end.keeps_bounds or not end.result.success:
            break
        search.rough = False  # what is counted of rough solutions need not be so of exact ones
        shifted = end.problem.shifted(shift_at(search, end.problem, end))
        end = search.solve(shifted, end.x, end.result, False)
    loose = not last_chance and end.unused > max(LITTLE_GAIN, fit.unused)
    if loose or not (end.certified and search.is_useful(end)):
        return None
    return at_limit(search, end) or end


def is_settled(search: Search, fit: Candidate) -> bool:
    """Whether the bounds hold by counting, and loosening the smooth ones would gain little."""
    if not fit.certified:
        return False
    used_up = bool((fit.counted >= -1.5 * search.spare)[fit.prices > 1e-9].any())
    return fit.unused <= (LITTLE_GAIN if used_up else NEGLIGIBLE_GAIN)


def shift_at(search: Search, sharp: LearningProblem, fit: Candidate) -> np.ndarray:
    """Return counted minus smooth constraint values, plus half of what may be left of a bound.

    With this shift a model that just uses up its bounds neither breaks them nor leaves room. A model that
    predicts the same of all rows tells nothing, and its threshold is moved to where predictions change.
    """
    x, counted = fit.x, fit.counted
    if fit.keeps_bounds and sharp.rows.is_constant(x):
        moved = with_threshold(sharp, x, fit.allowed)
        x, counted = (x, counted) if moved is None else (moved, counted_at(sharp, moved))
    return counted_minus_smooth(sharp, x, counted) + 0.5 * search.spare


def sharpness_for(search: Search) -> float:
    """Return how sharp sigmoids must be for most scores to lie where they are nearly steps."""
    if search.unconstrained is None:
        return 1.0
    return sharpness_of(search.problem, search.unconstrained.spread)


def sharpness_of(problem: LearningProblem, spread: float) -> float:
    """Return the same for scores of a standard deviation of `spread`."""
    widths = SPREAD_IN_WIDTHS if problem.rows.uses_threshold else SPREAD_IN_WIDTHS_OF_PAIRS
    return float(np.clip(widths / max(spread, 1e-300), 1.0, MAX_FIRST_SHARPNESS))


def sharpened(problem: LearningProblem, sharpness: float) -> LearningProblem:
    """Return the problem with sharper sigmoids; itself where nothing would change."""
    if sharpness == 1.0 or (problem.n_constraints == 0 and problem.rows.uses_threshold):
        return problem
    return problem.sharpened(sharpness)
