"""One split of a trade-off: a model for each bound, the largest bound first."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from equipoise import _check
from equipoise._positive import turned
from equipoise._status import Status
from equipoise.constraints import bind_table
from equipoise.estimators._continuation import ahead, rebound
from equipoise.estimators._counted import Candidate, Unconstrained
from equipoise.estimators._frontier.curve import FrontierPoint
from equipoise.estimators._frontier.store import PathStore
from equipoise.estimators._inputs import read_table
from equipoise.estimators._promise.testing import HeldOutRows
from equipoise.estimators._training import BoundTraining, Training
from equipoise.rows import RowSums
from equipoise.run import Budget

Rule = Callable[[float], Any]


def fit_path(
    estimator: Any,
    data: tuple[Any, Any],
    bounds: list[float],
    rule: Rule,
    number: int,
    folder: Path | None,
    progress: bool,
) -> list[FrontierPoint]:
    """Fit one split at every bound; each fit starts from the one before.

    `data` are features, labels, groups and weights of the rows to fit, and of those held out, or None.
    """
    train, test = data
    with Budget() as whole:  # notes Ctrl-C, whenever it comes
        table, _ = read_table(estimator, *train)
        training = Training(estimator._task(), table, estimator._runner(whole))
        store = PathStore(folder, number, estimator, training, bounds, rule)
        points, fits = store.load()
        if len(points) == len(bounds):
            _pass_on_interrupt(whole)
            return points
        unconstrained = training.fit_unconstrained()
        _pass_on_interrupt(whole)
        given: BoundTraining | None = None
        for i, bound in enumerate(bounds):
            started, wanted = time.perf_counter(), rule(bound)
            given = _under(wanted, training, unconstrained, given)
            if i < len(points):  # of an earlier part of this run
                continue
            own = estimator.max_seconds, estimator.callback  # every bound has its own budget
            with Budget(*own) as budget:
                training.runner = replace(training.runner, budget=budget)
                fit = given.fit(similar=ahead(fits, bound))
            _pass_on_interrupt(budget)
            fits = [*fits[-1:], (bound, replace(fit, problem=None, plain=None))]  # type: ignore[arg-type]
            held_out: dict[str, Any] = {}
            if test is not None:
                held_out = _held_out(training, estimator, test, fit, bound, len(bounds))
            point = _point(given, fit, bound, number)
            seconds = time.perf_counter() - started
            points.append(replace(point, seconds=seconds, **held_out))
            store.save(points, fits)
            if progress:
                print(f"split {number}: {points[-1]}", flush=True)
            _pass_on_interrupt(whole)
        return points


def _under(
    wanted: Any, training: Training, unconstrained: Unconstrained, before: BoundTraining | None
) -> BoundTraining:
    """Return the training under other rules; from the one before where nothing but a bound differs."""
    rules, training.task = training.task.constraints, replace(training.task, constraints=wanted)
    moved = None if before is None else rebound(before.binding, rules, wanted)
    if before is not None and moved is not None:
        problem = before.problem.recombined(moved.combination)
        return replace(before, binding=moved, problem=problem)
    binding = training.bind(unconstrained.loss)
    return BoundTraining(training, binding, training.problem(binding), unconstrained)


def _pass_on_interrupt(budget: Budget) -> None:
    """End the whole path after Ctrl-C; what was stored is kept."""
    if budget.wish is Status.INTERRUPTED:
        raise KeyboardInterrupt


def _point(given: BoundTraining, fit: Candidate, bound: float, number: int) -> FrontierPoint:
    """Return what is known of a model on its training rows."""
    training, problem = given.training, given.problem
    coef, intercept = turned(training.table.labels, *training.units.coefficients(fit.x))
    measured = given.binding.measured(fit.counted, lambda: problem.rows.thresholded(fit.x))
    return FrontierPoint(
        bound=bound,
        split=number,
        value=float(np.nanmax(np.abs(measured))) if measured.size else math.nan,
        **_quality(
            training.score if training.task.score is not None else None, problem.rows, fit.x
        ),
        objective=fit.objective,
        multiplier=float(fit.prices.sum()),
        residual=fit.result.certificate.residual,
        status=fit.result.status.name,
        holds=fit.keeps_bounds,
        coef=coef[0],
        intercept=float(intercept[0]),
        seconds=0.0,
    )


def _held_out(
    training: Training,
    estimator: Any,
    data: tuple[Any, ...],
    fit: Candidate,
    bound: float,
    points: int,
) -> dict[str, float]:
    """Measure a model on rows it has not seen."""
    table, _ = read_table(clone(estimator), *data)
    task = training.task
    try:
        binding = bind_table(
            task.constraints,
            table,
            loss=task.loss,
            objective=task.objective,
            best_loss=1.0,
            min_cell=task.min_cell,
            small_cells=task.small_cells,
            owner=task.owner,
        )
    except _check.InputError as error:  # a group may be absent here
        warnings.warn(f"frontier: nothing is known of held-out rows. {error}", stacklevel=2)
        return {}
    rows = table.row_sums(training.units, binding.specs)
    sums = rows.thresholded(fit.x)
    measured = binding.measured(binding.combination.plain_values(sums)[1:], lambda: sums)
    value = float(np.nanmax(np.abs(measured)))
    score = None if task.score is None else task.scorer(table, rows)
    quality = _quality(score, rows, fit.x)
    found = {"test_value": value, **{f"test_{name}": own for name, own in quality.items()}}
    if estimator.confidence is not None:
        shared = 1.0 - (1.0 - estimator.confidence) / points  # all points are promised at once
        held = HeldOutRows(task.owner, table, binding.inequalities, shared)
        found["promised"] = held.promised(*training.units.coefficients(fit.x), bound)
    return found


def _quality(
    score: Callable[[np.ndarray], float] | None, rows: RowSums, x: np.ndarray
) -> dict[str, float]:
    """Return accuracy and AUC; NaN for the one that the task is not about."""
    if score is not None:
        return {"accuracy": math.nan, "auc": score(x)}
    counts = rows.confusion(x)
    right = counts.weight[0, 0] - counts.positive[0, 0] + counts.positive[0, 1]
    return {"accuracy": float(right / counts.weight.sum()), "auc": math.nan}
