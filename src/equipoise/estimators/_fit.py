"""From a table of rows to a fitted estimator: the path of every fit of two classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._positive import turned
from equipoise.estimators._counted import Candidate, described, measure
from equipoise.estimators._fitted_model import fitted_model
from equipoise.estimators._infeasible import (
    BrokenBound,
    broken_bounds,
    complain,
    complain_of_promise,
    warn_of_constant,
)
from equipoise.estimators._promise.margin import CrossValidated
from equipoise.estimators._promise.parts import HoldingOut, Parts, Rows, holds_out
from equipoise.estimators._promise.stricter import StricterFit
from equipoise.estimators._promise.walk import Walk, unpromised
from equipoise.estimators._report import Report
from equipoise.estimators._reporting import make_report
from equipoise.estimators._rule_checks import require_parts
from equipoise.estimators._runner import seed_of
from equipoise.estimators._scoring.improving import Fitted, improved
from equipoise.estimators._scoring.measure import Scoring
from equipoise.estimators._task import Task
from equipoise.estimators._threads import suitable_threads
from equipoise.estimators._training import BoundTraining, Previous, Training
from equipoise.problems import LearningProblem
from equipoise.rows import Table
from equipoise.run import Budget


def fit_two_classes(
    estimator: Any,
    task: Task,
    table: Table,
    aim: float = 1.0,
    walk: StricterFit | None = None,
    learn: Callable[[Budget], tuple[Table, StricterFit | None]] | None = None,
) -> tuple[LearningProblem, Candidate]:
    """Fit an estimator to the rows of a table, wherever they are; return its problem and the model.

    1. bind the constraints to the rows, and fit without them
    2. solve under the constraints, so that they hold on counted rates; with a `walk`, under tighter ones,
       so that they can be promised for the population
    3. keep the model, its certificate, trace and report
    4. warn or raise where bounds are not met, or the budget ended first

    `aim` is the share of the tolerance that the solver aims for. `learn` is called first, within the budget,
    and returns the table to use instead, with features that it has learnt, and the walk.
    """
    whole = table
    with suitable_threads(table), estimator._budget() as budget:
        if learn is not None:
            table, walk = learn(budget)
        previous = _previous(estimator, table.labels)
        training = Training(task, table, estimator._runner(budget, aim), previous)
        given = training.bind_and_compare()  # 1
        unconstrained = given.unconstrained
        promised, choice = None, None
        scoring = getattr(estimator, "scoring", None)
        if walk is None or scoring is not None:
            fit = given.fit()  # 2
        if scoring is not None:
            measured = Scoring(estimator, scoring)
            first = Fitted(training, given.binding, given.problem, fit)
            best, choice = improved(measured, first, unconstrained, fits_again=walk is not None)
            fit = best.fit
            given = BoundTraining(best.training, best.binding, best.problem, unconstrained)
        if walk is not None:
            fit, promised = walk.fit(given)
        training, binding, problem = given.training, given.binding, given.problem

        def describe(fit: Candidate) -> tuple[Report, list[BrokenBound]]:
            compared = measure(problem, unconstrained.result, fit.allowed)
            report = replace(make_report(binding, fit, compared), choice=choice)
            if task.score is not None:
                scores = training.score(fit.x), training.score(unconstrained.x)
                report = report.ranked(str(task.score), *scores)
            if promised is not None:
                counted = np.array([line.true for line in report.constraints])
                report = replace(report, promise=promised(counted))
            return report, broken_bounds(binding, problem, fit, task.true_metric)

        fit, (report, broken) = described(fit, describe, budget)  # 3
        if report.promise is not None:
            fit = unpromised(fit, report.promise)
        model = {
            "report_": report,
            "rules_": task.constraints,
            **estimator._kept(fitted_model(training, problem.rows, fit.x)),
        }
        estimator._store(fit, budget, whole.dtype, {**model, "fingerprint_": whole.fingerprint()})
    owner, chosen = task.owner, estimator.on_infeasible
    if report.promise is None:
        complain(owner, chosen, broken, fit)  # 4
    else:  # what was asked for is the population; the training rows are only a part of the way
        complain_of_promise(owner, chosen, report.promise)
    if not broken:
        usual = None if task.only_compare else unconstrained.x
        warn_of_constant(owner, chosen, problem, fit.x, usual, table.classes)
    estimator._warn_unfinished()
    return problem, fit


def walk_of(estimator: Any, task: Task, table: Rows, groups: Any = None) -> Any:
    """Return how bounds are tightened for new rows, with a promise or without; None where they are not."""
    margin = getattr(estimator, "margin", None)
    if margin is not None or estimator.confidence is not None:
        require_parts(task.owner, table, "confidence" if margin is None else "margin")
    if margin is not None and estimator.confidence is not None:
        reason = "`margin` is for fits without a promise: leave out `confidence`, or `margin`."
        raise _check.InputError(task.owner, reason, "margin")
    if margin is not None:
        seed = seed_of(estimator.random_state)
        return CrossValidated(task.owner, table, seed)
    if not holds_out(task.owner, estimator.confidence, task.constraints, groups):
        return None
    parts = Parts.of(task.owner, table, HoldingOut.of(estimator, groups))
    return Walk(task.owner, parts, estimator.confidence)


def _previous(estimator: Any, labels: np.ndarray) -> Previous | None:
    """Return the last model with `warm_start`, if there is one, for the classes of a table."""
    if not getattr(estimator, "warm_start", False) or not hasattr(estimator, "coef_"):
        return None
    last = getattr(estimator, "result_", None)
    coef, intercept = turned(labels, estimator.coef_, estimator.intercept_)
    return Previous(coef, intercept, last)
