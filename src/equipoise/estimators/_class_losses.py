"""Fitting several classes under bounds on their losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise._status import Status
from equipoise.estimators._calibration import Calibration, calibrated
from equipoise.estimators._counted import Candidate, described, ended_early, measure
from equipoise.estimators._infeasible import BrokenBound, complain
from equipoise.estimators._runner import Runner
from equipoise.estimators._threads import suitable_threads
from equipoise.models import LinearUnits
from equipoise.problems import Lagrangian, LearningProblem, MeritProblem
from equipoise.rows import ClassLossSpec, RowSums, Table, column_scales
from equipoise.sets import L2Ball, Product
from equipoise.terms import class_loss_combination

# Steps towards a classifier that is good for every class, which is only a start. Chosen.
ROUGH_STEPS = 30


def fit_class_losses(
    estimator: Any, table: Table, target: int, limits: np.ndarray, aim: float
) -> Any:
    """Fit a Neyman-Pearson classifier of K > 2 classes to the rows of a table."""
    K, owner, free = len(table.classes), type(estimator).__name__, estimator.radius is None
    table = table.ordered()
    with suitable_threads(table), estimator._budget() as budget:
        scale, center = column_scales(owner, table) if free else (None, None)
        units = LinearUnits(table.n_columns, free, scale, center, K)
        totals = table.class_totals()
        rows = table.row_sums(units, [ClassLossSpec(table.classes, totals)])
        names = [f"class {label}" for label in table.classes]
        combination = class_loss_combination(limits, target, names)
        if free:
            l2 = 1.0 / (estimator.C * table.total())
            problem = LearningProblem(rows, combination, l2=l2)
        else:
            ball = L2Ball(estimator.radius)
            domain = Product([(ball, units.dim // K)] * K)
            problem = LearningProblem(rows, combination, domain=domain)
        fit = _solved(problem, estimator._runner(budget, aim), free)

        def describe(fit: Candidate) -> dict[str, Any]:
            coef, intercept = units.coefficients(fit.x)
            return {
                "classes_": table.labels,
                "coef_": coef,
                "intercept_": intercept,
                "calibration_": _calibrated(rows, table, fit.x),
                "class_errors_": rows.wrong_by_class(fit.x) / totals,
                "class_losses_": rows.at(fit.x).values,
            }

        if fit.result.status is Status.INTERRUPTED:
            fit = ended_early([fit], Status.INTERRUPTED)
        elif budget.wish is not None and fit.result.status is Status.NOT_FOUND:
            fit = ended_early([fit], budget.wish)
        fit, model = described(fit, describe, budget)
        estimator._store(fit, budget, table.dtype, {**model, "fingerprint_": table.fingerprint()})
    over = estimator.class_losses_ - limits - np.insert(fit.allowed, target, np.inf)
    broken = [
        BrokenBound(f"class {table.classes[k]!r}", "<=", limits[k], estimator.class_losses_[k])
        for k in np.argsort(-over, kind="stable")
        if over[k] > 0
    ]
    complain(owner, estimator.on_infeasible, broken, fit)
    estimator._warn_unfinished()
    return estimator


def _calibrated(rows: RowSums, table: Table, x: np.ndarray) -> Calibration:
    known = table.labelled()
    codes = np.searchsorted(table.labels, known.y)
    return calibrated(rows.predicted(x), codes, known.weights())


def _solved(problem: LearningProblem, runner: Runner, free: bool) -> Candidate:
    """Solve from where no score is saturated; with small weights, from a rough classifier first."""

    def solved(start: np.ndarray) -> Candidate:
        result = runner.solve(problem, start)
        return measure(problem, result, np.full(problem.n_constraints, max(1e-6, result.tol)))

    zero = np.zeros(problem.dim)
    runner.budget.enter("solving")
    if free:
        return solved(zero)
    # small weights saturate slowly: start from a classifier that is good for every class
    alike = MeritProblem(problem, Lagrangian(np.ones(problem.n_constraints)))
    fit = solved(runner.solve(alike, zero, rough=True, max_steps=ROUGH_STEPS).x)
    if fit.keeps_bounds or runner.budget.wish is not None:
        return fit
    # large features saturate at once: then from where no score is saturated
    return min(fit, solved(zero), key=Candidate.rank)
