"""The fit on counted bounds: candidates, and the stages that look for the best one."""

from __future__ import annotations

import numpy as np

from equipoise.estimators._counted.candidate import (
    Candidate,
    Unconstrained,
    allowances,
    counted_at,
    measure,
)
from equipoise.estimators._counted.fixed import TurnPredictions
from equipoise.estimators._counted.repair import Repair
from equipoise.estimators._counted.search import Search, Stage, described, ended_early, run_stages
from equipoise.estimators._counted.shifting import (
    SHARPNESS_FACTORS,
    FinishBest,
    FirstShift,
    ShiftAgain,
)
from equipoise.estimators._runner import Runner
from equipoise.problems import LearningProblem
from equipoise.run import Result

STAGES: tuple[Stage, ...] = (
    FirstShift(),
    TurnPredictions(),
    *(ShiftAgain(factor) for factor in SHARPNESS_FACTORS),
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
) -> Candidate:
    """Fit so that the bounds hold on counted rates, at little loss; see `Search` for the arguments."""
    search = Search(problem, start, runner, allowed, unconstrained, previous)
    return run_stages(search, STAGES)


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
