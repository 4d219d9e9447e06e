"""Neighbouring shifts: from a model to one that leaves less of its bounds, or has another objective."""

from __future__ import annotations

import numpy as np

from equipoise.estimators._counted.candidate import Candidate, counted_minus_smooth
from equipoise.estimators._counted.search import BudgetSpentError, Search
from equipoise.estimators._counted.shifting import sharpened, sharpness_for

# Shifts in a row: the first takes what counting added at another model, the second what it adds at the new
# one. Chosen: a third gained nothing on a9a and bank.
SHIFTS_IN_A_ROW = 2

# From a start that is far, shifts are first taken anew where the residual has come down to these: what
# counting adds at the start says little of the model that its shift leads to. Chosen.
ON_THE_WAY = 1e-2, 1e-3

# From there this many shifts at the most, until a model keeps its bounds. Chosen.
MOST_SHIFTS = 6

# What counting adds jumps from model to model. Where two shifts did not do, the next ones take its mean over
# the last few models, this many. Chosen.
AVERAGED = 3


def neighbours(
    search: Search, start: Candidate, left: np.ndarray, rough: bool | float = False
) -> list[Candidate]:
    """Return the models of a few shifts in a row, whether they keep their bounds by counting or not.

    Each is a solution of the problem shifted by what counting adds at the one before, and by what is to be
    `left` of every bound, (m,).
    """
    sharp = sharpened(search.problem, sharpness_for(search))
    last = start
    try:
        for _ in range(SHIFTS_IN_A_ROW):
            shift = counted_minus_smooth(sharp, last.x) + left
            last = search.solve(sharp.shifted(shift), last.x, last.result, rough)
            if not last.result.success or (rough and last.keeps_bounds):
                break
    except BudgetSpentError:
        pass
    return _useful(search, search.tried)


def neighbours_of_far(search: Search, start: Candidate, left: np.ndarray) -> list[Candidate]:
    """Return the same models from a start that is far: of another objective, or of other rows.

    1. solve roughly on the way, with what is usually left of the bounds
    2. shift as `neighbours` does, but by more and more after models that break their bounds, until one
       keeps them
    """
    sharp = sharpened(search.problem, sharpness_for(search))
    last, gaps = start, []
    try:
        for residual in ON_THE_WAY:  # 1
            shift = counted_minus_smooth(sharp, last.x) + 0.5 * search.spare
            last = search.solve(sharp.shifted(shift), last.x, last.result, residual)
        for k in range(MOST_SHIFTS):  # 2
            gaps.append(counted_minus_smooth(sharp, last.x))
            gap = gaps[-1] if k < SHIFTS_IN_A_ROW else np.mean(gaps[-AVERAGED:], axis=0)
            more = 0.0 if k == 0 or last.keeps_bounds else 2.0 ** (k - 2)
            shift = gap + np.maximum(left, more * search.spare)
            last = search.solve(sharp.shifted(shift), last.x, last.result, False)
            kept = any(fit.certified for fit in search.tried[len(ON_THE_WAY) :])
            if not last.result.success or (k + 1 >= SHIFTS_IN_A_ROW and kept):
                break
    except BudgetSpentError:
        pass
    return _useful(search, search.tried[len(ON_THE_WAY) :])


def _useful(search: Search, tried: list[Candidate]) -> list[Candidate]:
    return [fit for fit in tried if fit.result.success and search.is_useful(fit)]
