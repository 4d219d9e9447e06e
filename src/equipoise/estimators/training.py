"""Training a constrained classifier: bind, compare, solve, judge."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import compute_sample_weight

from equipoise.constraints import Binding
from equipoise.estimators.counting import Kept, allowances, measure
from equipoise.estimators.infeasible import complain
from equipoise.estimators.inputs import Rows, bind_rows
from equipoise.estimators.promise import keep
from equipoise.models.linear import LinearModel
from equipoise.problems.learning import LearningProblem
from equipoise.run import Result


def bind_and_compare(
    estimator: Any, model: LinearModel, rows: Rows, groups: Any
) -> tuple[Binding, Result]:
    """Bind the constraints, and fit without them: the model to compare with, and to start from."""
    weight = None
    if estimator.class_weight is not None:
        weight = compute_sample_weight(estimator.class_weight, rows.y)
        weight = weight if rows.weight is None else weight * rows.weight
    shared = {"loss": estimator.loss, "objective_weight": weight}

    def bound(best_loss: float | None) -> Binding:
        return bind_rows(
            type(estimator).__name__,
            estimator.constraints,
            rows.y,
            groups,
            rows.weight,
            objective=estimator.objective,
            best_loss=best_loss,
            min_cell=estimator.min_cell,
            small_cells=estimator.small_cells,
            **shared,
        )

    listed = estimator.constraints if isinstance(estimator.constraints, list | tuple) else ()
    budget = any("best_loss" in getattr(c, "needs", ()) for c in (estimator.constraints, *listed))
    binding = None if budget else bound(None)  # before the work, so that errors come early
    free = bind_rows(type(estimator).__name__, (), rows.y, None, rows.weight, **shared)
    start = _start(estimator, model, np.zeros(model.dim))
    plain = estimator._run(penalised(estimator, model, free, rows), start)
    if binding is None:
        binding = bound(float(free.terms.at(model.scores(plain.x)).values[0]))
    return binding, plain


def _start(estimator: Any, model: Any, otherwise: np.ndarray) -> np.ndarray:
    """Return where to start: at the previous solution with `warm_start`."""
    known = hasattr(estimator, "coef_") and estimator.coef_.shape == (1, model.features.shape[1])
    if estimator.warm_start and known:
        return model.parameters(estimator.coef_[0], float(estimator.intercept_[0]))
    return otherwise


def penalised(estimator: Any, model: LinearModel, binding: Binding, rows: Rows) -> LearningProblem:
    """Return the training problem, with the penalty of scikit-learn's `C`."""
    return LearningProblem(model, binding.terms, l2=1.0 / (estimator.C * rows.total))


def fit_constrained(
    estimator: Any, problem: LearningProblem, binding: Binding, plain: Result
) -> Kept:
    """Solve under the constraints; on the true metric if the estimator asks for it."""
    allowed = allowances(binding, problem.model, estimator.tol)
    if not binding.rows and estimator.objective is None:
        return measure(problem, plain, allowed)
    start = _start(estimator, problem.model, plain.x)
    if estimator.true_metric:
        return keep(problem, start, estimator._run, allowed)
    return measure(problem, estimator._run(problem, start), allowed)


def judge(estimator: Any, binding: Binding, fit: Kept) -> None:
    """Warn or raise where the bounds are not met, with what was reached and what blocks."""
    values = fit.true if estimator.true_metric else fit.smooth
    allowed = fit.allowed if estimator.true_metric else max(1e-6, fit.result.tol)
    over = np.where(values <= allowed, 0.0, values)
    broken = [
        f"{row.name!r} asked {row.sense} {row.bound:g}, reached {row.measured(values[i]):.4f}"
        for i in np.argsort(-over, kind="stable")
        if over[i] > 0
        for row in (binding.rows[i],)
    ]
    complain(type(estimator).__name__, estimator.on_infeasible, broken, list(fit.result.blocking))
