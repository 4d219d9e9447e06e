"""Neighbouring shifts: from a model to one that leaves less of its bounds, or has another objective."""

from __future__ import annotations

import numpy as np

from equipoise.estimators._counted.candidate import Candidate, counted_minus_smooth
from equipoise.estimators._counted.search import BudgetSpentError, Search
from equipoise.estimators._counted.shifting import sharpened, sharpness_for

# Shifts in a row: the first takes what counting added at another model, the second what it adds at the new
# one. Chosen: a third gained nothing on a9a and bank.
SHIFTS_IN_A_ROW = 2


def neighbours(
    search: Search, start: Candidate, left: np.ndarray, rough: bool = False
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
    return [fit for fit in search.tried if fit.result.success and search.is_useful(fit)]
