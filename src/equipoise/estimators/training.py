"""Training a constrained classifier: bind, compare, solve, judge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import compute_sample_weight

from equipoise.constraints import Binding
from equipoise.estimators.counting import (
    Kept,
    Plain,
    allowances,
    is_constant,
    measure,
    prediction_scores,
)
from equipoise.estimators.infeasible import broken_bound, complain, warn_of_constant
from equipoise.estimators.inputs import Rows, bind_rows
from equipoise.estimators.promise import keep
from equipoise.models.linear import LinearModel
from equipoise.problems.learning import LearningProblem


def bind_and_compare(
    estimator: Any, model: LinearModel, rows: Rows, groups: Any
) -> tuple[Binding, Plain]:
    """Bind the constraints, and fit without them: the model to compare with, and to start from."""
    listed = estimator.constraints if isinstance(estimator.constraints, list | tuple) else ()
    budget = any("best_loss" in getattr(c, "needs", ()) for c in (estimator.constraints, *listed))
    # bound before the work, so that errors come early
    binding = None if budget else bind_constraints(estimator, rows, groups, None)
    compared = binding is None or bool(binding.rows) or estimator.objective is not None
    plain = fit_plain(estimator, model, rows, rough=compared and not budget)
    return binding or bind_constraints(estimator, rows, groups, plain.loss), plain


def bind_constraints(estimator: Any, rows: Rows, groups: Any, best_loss: float | None) -> Binding:
    """Bind the estimator's constraints to its training rows."""
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
        **_loss(estimator, rows),
    )


def fit_plain(estimator: Any, model: LinearModel, rows: Rows, rough: bool = True) -> Plain:
    """Fit without constraints."""
    free = bind_rows(
        type(estimator).__name__, (), rows.y, None, rows.weight, **_loss(estimator, rows)
    )
    start = _start(estimator, model, np.zeros(model.dim))
    result = estimator._run(penalised(estimator, model, free, rows), start, rough=rough)
    scores = model.scores(result.x)
    mean = np.average(scores, weights=rows.weight)
    spread = float(np.sqrt(np.average((scores - mean) ** 2, weights=rows.weight)))
    loss = float(free.terms.at(scores).values[0])
    return Plain(replace(result, state=None), loss, spread)  # the state is large


def _loss(estimator: Any, rows: Rows) -> dict[str, Any]:
    """The loss and the weights of its rows, class weights included."""
    weight = None
    if estimator.class_weight is not None:
        weight = compute_sample_weight(estimator.class_weight, rows.y)
        if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
            owner, got = type(estimator).__name__, estimator.class_weight
            raise ValueError(f"{owner}: `class_weight` must hold numbers >= 0, got {got!r}.")
        weight = weight if rows.weight is None else weight * rows.weight
    return {"loss": estimator.loss, "objective_weight": weight}


def _known(estimator: Any, model: Any) -> bool:
    """Whether there is a previous solution to start from, with `warm_start`."""
    known = hasattr(estimator, "coef_") and estimator.coef_.shape == (1, model.features.shape[1])
    return estimator.warm_start and known


def _start(estimator: Any, model: Any, otherwise: np.ndarray) -> np.ndarray:
    """Return where to start: at the previous solution with `warm_start`."""
    if not _known(estimator, model):
        return otherwise
    return model.parameters(estimator.coef_[0], float(estimator.intercept_[0]))


def penalised(estimator: Any, model: LinearModel, binding: Binding, rows: Rows) -> LearningProblem:
    """Return the training problem, with the penalty of scikit-learn's `C`."""
    return LearningProblem(model, binding.terms, l2=1.0 / (estimator.C * rows.total))


def fit_constrained(
    estimator: Any,
    problem: LearningProblem,
    binding: Binding,
    plain: Plain,
    near: Kept | None = None,
) -> Kept:
    """Solve under the constraints; on the true metric if the estimator asks for it.

    `near` is a fit under nearly the same constraints, to continue from.
    """
    allowed = allowances(binding, problem.facts.rounding, estimator.tol)
    if not binding.rows and estimator.objective is None:
        return measure(problem, plain.result, allowed)
    last = None if near is None else near.result
    start = plain.x
    if last is not None:
        start = last.x
    elif _known(estimator, problem.model):
        start, last = _start(estimator, problem.model, start), getattr(estimator, "result_", None)
    known: Plain | None = plain
    if not _finite(problem, binding, start):
        start, last, known = np.zeros(problem.dim), None, None
        _finite(problem, binding, start, type(estimator).__name__)
    if estimator.true_metric:
        return keep(problem, start, estimator._run, allowed, plain=known, near=last)
    return measure(problem, estimator._run(problem, start, last), allowed)


def _finite(
    problem: LearningProblem, binding: Binding, x: np.ndarray, owner: str | None = None
) -> bool:
    """Whether users' functions and their slopes are finite; for an `owner` raises if not."""
    if all(row.expression is not None for row in binding.rows):
        return True
    point = problem.at(x)
    for i, row in enumerate(binding.rows):
        value = point.constraints[i]
        if np.isfinite(value) and np.isfinite(point.gradient(1 + i)).all():
            continue
        if owner is None:
            return False
        what = f"is {value}" if not np.isfinite(value) else "has a slope that is not finite"
        raise ValueError(
            f"{owner}: the constraint {row.name!r} {what}, at the model without constraints and where "
            "all scores are 0; training must start where it is finite."
        )
    return True


def judge(estimator: Any, binding: Binding, fit: Kept, plain: Plain) -> None:
    """Warn or raise where the bounds are not met, with what was reached and what blocks."""
    values = fit.true if estimator.true_metric else fit.smooth
    allowed = fit.allowed if estimator.true_metric else max(1e-6, fit.result.tol)
    over = np.where(values <= allowed, 0.0, values)
    broken = [
        broken_bound(repr(row.name), row.sense, row.bound, row.measured(values[i]))
        for i in np.argsort(-over, kind="stable")
        if over[i] > 0
        for row in (binding.rows[i],)
    ]
    owner, chosen = type(estimator).__name__, estimator.on_infeasible
    complain(owner, chosen, broken, list(fit.result.blocking))
    problem, x = fit.problem, fit.result.x
    if not broken and is_constant(problem, x) and not is_constant(problem, plain.x):
        positive = bool(prediction_scores(problem.model, x)[0] > 0)
        warn_of_constant(owner, chosen, estimator.classes_.tolist()[positive])
