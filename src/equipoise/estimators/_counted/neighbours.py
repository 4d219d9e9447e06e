"""Neighbouring shifts: from a model to one that leaves less of its bounds, or has another objective."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from equipoise.estimators._counted.candidate import Candidate, counted_minus_smooth
from equipoise.estimators._counted.search import BudgetSpentError, Search
from equipoise.estimators._counted.shifting import sharpened, sharpness_for, sharpness_of
from equipoise.problems import LearningProblem

# Shifts in a row: the first takes what counting added at another model, the second what it adds at the new
# one. Chosen: a third gained nothing on a9a and bank.
SHIFTS_IN_A_ROW = 2

# From a start that is far, the first shift is solved for to this residual: what counting adds at the start
# says little of the model that the shift leads to. Chosen: with less, fits cost more and predicted no better
# on a9a, bank and COMPAS.
ON_THE_WAY = 3e-3

# Where scores ask for sigmoids that are no sharper than this, plain ones are tried too. Chosen.
NEARLY_PLAIN = 1.25

# Two models whose sigmoids differ are compared after shifts to these residuals. Chosen: after one shift plain
# sigmoids break bounds by up to .007 on a9a.
COMPARED = 1e-3, 1e-3

# From there this many shifts at the most, until a model keeps its bounds. Chosen.
MOST_SHIFTS = 6

# What counting adds jumps from model to model. Where two shifts did not do, the next ones take its mean over
# the last few models, this many. Chosen.
AVERAGED = 3

# Whether the first of two models predicts better.
Ahead = Callable[[Candidate, Candidate], bool]


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


def neighbours_of_far(
    search: Search, start: Candidate, left: np.ndarray, is_ahead: Ahead
) -> list[Candidate]:
    """Return such models from a start that is far: of another objective, or of other rows.

    1. solve roughly on the way, with what is usually left of the bounds
    2. where scores are so wide that plain sigmoids are nearly steps, do so with plain ones, and go on with
       these if their model `is_ahead`: models that use up the same bounds with softer or sharper sigmoids
       predict differently well
    3. shift as `neighbours` does, but by more and more after models that break their bounds, until one
       keeps them
    """
    try:
        last, sharp = _on_the_way(search, start, is_ahead)
    except BudgetSpentError:
        return []
    rough, gaps = len(search.tried), []
    try:
        for k in range(MOST_SHIFTS):  # 3
            gaps.append(counted_minus_smooth(sharp, last.x))
            gap = gaps[-1] if k < SHIFTS_IN_A_ROW else np.mean(gaps[-AVERAGED:], axis=0)
            more = 0.0 if k == 0 or last.keeps_bounds else 2.0 ** (k - 2)
            shift = gap + np.maximum(left, more * search.spare)
            last = search.solve(sharp.shifted(shift), last.x, last.result, False)
            if last.certified or not last.result.success:
                break
    except BudgetSpentError:
        pass
    return _useful(search, search.tried[rough:])


def _on_the_way(
    search: Search, start: Candidate, is_ahead: Ahead
) -> tuple[Candidate, LearningProblem]:
    """Return the rough model to go on from, and the problem with sigmoids as sharp as its own."""
    plain = search.problem
    sharp = sharpened(plain, sharpness_for(search))
    last = _roughly(search, sharp, start, ON_THE_WAY)  # 1
    if sharp is plain or sharpness_of(plain, plain.rows.spread(last.x)) > NEARLY_PLAIN:
        return last, sharp
    softer = _roughly(search, plain, last, *COMPARED)  # 2
    ahead = softer.result.success and is_ahead(softer, last)
    return (softer, plain) if ahead else (last, sharp)


def _roughly(
    search: Search, sharp: LearningProblem, last: Candidate, *residuals: float
) -> Candidate:
    """Return the last model of a few shifts, each solved for to its residual."""
    for residual in residuals:
        shift = counted_minus_smooth(sharp, last.x) + 0.5 * search.spare
        last = search.solve(sharp.shifted(shift), last.x, last.result, residual)
    return last


def _useful(search: Search, tried: list[Candidate]) -> list[Candidate]:
    return [fit for fit in tried if fit.result.success and search.is_useful(fit)]
