"""The fit on counted bounds: candidates, and the stages that look for the best one."""

from __future__ import annotations

import numpy as np

from equipoise._status import Status
from equipoise.estimators._counted.candidate import (
    Candidate,
    Unconstrained,
    allowances,
    counted_at,
    measure,
)
from equipoise.estimators._counted.ending import described, ended_early
from equipoise.estimators._counted.few_rows import CutScores
from equipoise.estimators._counted.fixed import TurnPredictions
from equipoise.estimators._counted.held import HoldFew
from equipoise.estimators._counted.reach import OutOfReach, Reach
from equipoise.estimators._counted.repair import Contradiction, Prove, Repair
from equipoise.estimators._counted.search import Search, Stage, run_stages
from equipoise.estimators._counted.shifting import (
    SHARPNESS_FACTORS,
    FinishBest,
    FirstShift,
    ShiftAgain,
    SmallerScores,
)
from equipoise.estimators._counted.simple import best_simple, no_worse_than_simple
from equipoise.estimators._counted.small_steps import SmallSteps
from equipoise.estimators._counted.spread import HoldSpread
from equipoise.estimators._runner import Runner
from equipoise.problems import LearningProblem
from equipoise.run import Result

SHIFTING = tuple(ShiftAgain(factor) for factor in SHARPNESS_FACTORS)

STAGES: tuple[Stage, ...] = (
    Contradiction(),
    Reach(),
    CutScores(),
    FirstShift(),
    SmallerScores(),
    HoldSpread((FirstShift(), *SHIFTING)),
    OutOfReach(),
    Prove(),
    TurnPredictions(),
    HoldFew(),
    SmallSteps(),
    *SHIFTING,
    FinishBest(),
    Repair(),
)
"""What is tried, one after the other, until a model keeps its bounds at little loss."""


def fit_counted(
    problem: LearningProblem,
    start: np.ndarray,
    runner: Runner,
    allowed: np.ndarray,
    *,
    unconstrained: Unconstrained | None = None,
    previous: Result | None = None,
    class_factors: np.ndarray | None = None,
    asks_errors: bool = False,
    repair: bool = True,
    rough: bool = False,
) -> Candidate:
    """Fit so that the bounds hold on counted rates, at little loss; see `Search` for the arguments.

    Without `class_factors` errors are not what the objective stands for. Without `repair` the last stage
    is left out, and the closest model returned. With `rough`, problems on the way are solved roughly although
    there is a `previous` one. Where the budget ends first (time, Ctrl-C, the callback), the best model so far
    is returned with the reason as its status.
    """
    factors = np.ones(2) if class_factors is None else class_factors
    judges = class_factors is not None
    search = Search(
        problem, start, runner, allowed, unconstrained, previous, factors, judges, asks_errors
    )
    search.rough = search.rough or rough
    found = run_stages(search, STAGES if repair else STAGES[:-1], no_worse_than_simple)
    if found is not None:
        return found
    tried = search.tried
    if not tried and unconstrained is not None:
        tried = [measure(problem, unconstrained.result, allowed)]
    interrupted = runner.budget.wish is Status.INTERRUPTED  # then a fit ends at once
    if tried and not interrupted and not any(fit.keeps_bounds for fit in tried):
        simple = best_simple(search)
        tried = tried if simple is None else [*tried, simple.candidate(search)]
    return ended_early(tried, runner.budget.wish or Status.STALLED)


__all__ = [
    "Candidate",
    "Unconstrained",
    "allowances",
    "counted_at",
    "measure",
    "described",
    "ended_early",
    "fit_counted",
]
