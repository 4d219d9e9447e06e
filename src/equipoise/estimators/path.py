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
from sklearn.utils import _safe_indexing

from equipoise.constraints.groups import Groups
from equipoise.estimators.continuation import ahead, rebound
from equipoise.estimators.counting import Kept, prediction_scores
from equipoise.estimators.curve import FrontierPoint
from equipoise.estimators.digest import digest
from equipoise.estimators.inputs import column_scales, read_rows, split_sensitive
from equipoise.estimators.predictor import codes_of
from equipoise.estimators.training import bind_constraints, fit_constrained, fit_plain, penalised
from equipoise.models.linear import LinearModel, linear_scores
from equipoise.run import Checkpoint

Rule = Callable[[float], Any]


def fit_path(
    estimator: Any,
    data: tuple[Any, ...],
    part: tuple[Any, Any],
    bounds: list[float],
    rule: Rule,
    number: int,
    folder: Path | None,
    progress: bool,
) -> list[FrontierPoint]:
    """Fit one split at every bound; each fit starts from the one before."""
    train, test = part
    n = len(data[1])
    X, y, sensitive, weight = (_take(values, train, n) for values in data)
    owner = type(estimator).__name__
    features, groups, _ = split_sensitive(owner, X, sensitive)
    rows = read_rows(estimator, features, y, weight)
    store = None
    points: list[FrontierPoint] = []
    fits: list[tuple[float, Kept]] = []  # the last two
    if folder is not None:
        rules = [rule(bound) for bound in bounds]
        identity = {
            "bounds": bounds,
            "data": digest(rows.X, rows.y, groups, rows.weight),
            "settings": digest(rules, estimator.get_params(deep=False)),
        }
        store = Checkpoint(folder / f"split-{number}.checkpoint")
        stored = store.load(identity)
        points, fits = ([], []) if stored is None else (stored["points"], stored["fits"])
    if len(points) == len(bounds):
        return points
    scales = column_scales(owner, rows.X, rows.weight)
    model = LinearModel(rows.X, estimator.fit_intercept, *scales)
    plain = fit_plain(estimator, model, rows)
    groups = None if groups is None else Groups(groups, rows.y.size)  # read once for all bounds
    binding, problem, known = None, None, len(points)
    for i, bound in enumerate(bounds):
        started = time.perf_counter()
        moved = rebound(binding, problem, estimator.constraints, rule(bound))
        estimator.constraints = rule(bound)
        if moved is None:
            binding = bind_constraints(estimator, rows, groups, plain.loss)
            moved = binding, penalised(estimator, model, binding, rows)
        binding, problem = moved
        if i < known:
            continue
        fit = fit_constrained(estimator, problem, binding, plain, ahead(fits, bound))
        fits = [*fits[-1:], (bound, _without_data(fit))]
        coef, intercept = model.coefficients(fit.result.x)
        measured = [row.measured(value) for row, value in zip(binding.rows, fit.true)]
        scores = prediction_scores(model, fit.result.x)
        point = FrontierPoint(
            bound=bound,
            split=number,
            value=float(np.max(np.abs(measured))) if measured else math.nan,
            accuracy=_accuracy(scores, rows.codes, rows.weight),
            objective=fit.objective,
            multiplier=float(fit.prices.sum()),
            residual=fit.result.certificate.residual,
            status=fit.result.status.name,
            holds=fit.kept,
            coef=coef,
            intercept=float(intercept),
            seconds=time.perf_counter() - started,
            **_held_out(estimator, data, test, coef, intercept),
        )
        points.append(point)
        if store is not None:
            store.save({"identity": identity, "points": points, "fits": fits})
        if progress:
            print(f"split {number}: {point}", flush=True)
    return points


def _without_data(fit: Kept) -> Kept:
    """Return a fit that is small enough to be stored after every bound."""
    none: Any = None
    return replace(fit, problem=none)


def _held_out(
    estimator: Any, data: tuple, test: Any, coef: np.ndarray, intercept: float
) -> dict[str, float]:
    """Measure a model on rows it has not seen."""
    if test is None:
        return {}
    n = len(data[1])
    X, y, sensitive, weight = (_take(values, test, n) for values in data)
    X, groups, _ = split_sensitive("frontier", X, sensitive)
    rows = read_rows(clone(estimator), X, y, weight)
    try:
        binding = bind_constraints(estimator, rows, groups, 1.0)
    except ValueError as error:  # a group may be absent here
        warnings.warn(f"frontier: nothing is known of held-out rows. {error}", stacklevel=2)
        return {}
    scores = linear_scores(rows.X, coef[None], np.float64(intercept))
    true = binding.terms.hard(scores)[1:]
    measured = [abs(row.measured(value)) for row, value in zip(binding.rows, true)]
    accuracy = _accuracy(scores, rows.codes, rows.weight)
    return {"test_value": float(max(measured)), "test_accuracy": accuracy}


def _accuracy(scores: np.ndarray, codes: np.ndarray, weight: np.ndarray | None) -> float:
    return float(np.average(codes_of(scores) == codes, weights=weight))


def _take(values: Any, index: Any, rows: int) -> Any:
    """Return some rows; names of columns as they are."""
    if values is None or index is None or isinstance(values, str):
        return values
    if isinstance(values, dict):
        return {name: _safe_indexing(column, index) for name, column in values.items()}
    length = values.shape[0] if hasattr(values, "shape") else len(values)
    return _safe_indexing(values, index) if length == rows else values
