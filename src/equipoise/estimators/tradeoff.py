"""The whole trade-off: one certified model for each bound, by continuation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit
from sklearn.utils import _safe_indexing

from equipoise import _check
from equipoise.constraints.groups import Groups
from equipoise.estimators.continuation import ahead, rebound
from equipoise.estimators.counting import Kept, prediction_scores
from equipoise.estimators.curve import Frontier, FrontierPoint
from equipoise.estimators.inputs import column_scales, read_rows, split_sensitive
from equipoise.estimators.predictor import codes_of
from equipoise.estimators.threads import suitable_threads
from equipoise.estimators.training import bind_constraints, fit_constrained, fit_plain, penalised
from equipoise.models.linear import LinearModel
from equipoise.run import Checkpoint

Rule = Callable[[float], Any]


def frontier(
    estimator: Any,
    X: Any,
    y: Any,
    bounds: Sequence[float],
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    rule: Rule | None = None,
    splits: int = 0,
    test_size: float = 0.25,
    n_jobs: int | None = None,
    checkpoint: str | Path | None = None,
    progress: bool = False,
) -> Frontier:
    """Fit a model for every bound, from the loosest to the tightest, each starting from the last.

    Parameters
    ----------
    estimator : ConstrainedClassifier
        Its settings; it is not changed.
    X, y, sensitive_features, sample_weight : as in ``estimator.fit``
    bounds : sequence of float
    rule : callable, optional
        ``bound -> constraints``; by default the estimator's constraint, if it is one, with another
        bound.
    splits : int
        0: fit on all rows. Otherwise fit on so many random training parts, and measure on the
        rows held out: error bars.
    test_size : float
        The share held out.
    n_jobs : int, optional
        Splits fitted at a time, by joblib: a Dask or Ray backend works unchanged.
    checkpoint : path of a folder, optional
        Every point is stored when it is done; a run that was killed continues from there.
    progress : bool
        Print a line for every point.

    Returns
    -------
    Frontier
        The points; `knee`, `summary`, `to_frame`, `plot`.

    Examples
    --------
    >>> from equipoise import ConstrainedClassifier, demographic_parity
    >>> from equipoise.datasets import make_census
    >>> from equipoise.estimators import frontier
    >>> data = make_census(2000, seed=0)
    >>> curve = frontier(
    ...     ConstrainedClassifier(demographic_parity(0.1)), data.X, data.y, [0.02, 0.05, 0.1],
    ...     sensitive_features=data.groups,
    ... )
    >>> [point.holds for point in curve.points]
    [True, True, True]
    """
    owner = "frontier"
    listed = sorted({float(bound) for bound in bounds}, reverse=True)
    if not listed:
        _check.fail(owner, "bounds", "must hold at least one number", bounds)
    rule = rule or _rule_of(estimator)
    for bound in listed:
        rule(bound)  # errors come before the work
    splits = _check.count(owner, "splits", splits)
    folder = None if checkpoint is None else Path(checkpoint)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    parts: list[tuple[Any, Any]] = [(None, None)]
    if splits:
        seed = estimator.random_state or 0
        parts = list(
            ShuffleSplit(splits, test_size=test_size, random_state=seed).split(np.zeros(n))
        )
    data = (X, y, sensitive_features, sample_weight)
    with suitable_threads(X):
        paths = Parallel(n_jobs=n_jobs)(
            delayed(_path)(clone(estimator), data, part, listed, rule, number, folder, progress)
            for number, part in enumerate(parts)
        )
    return Frontier(tuple(point for path in paths for point in path))


def _rule_of(estimator: Any) -> Rule:
    """Return the estimator's constraint as a function of its bound."""
    given = estimator.constraints
    if isinstance(given, list | tuple) and len(given) == 1:
        given = given[0]
    if not hasattr(given, "bound"):
        raise ValueError(
            "frontier: `rule` must say how the bound enters, e.g. rule=lambda b: recall(at_least=b); "
            "only a single constraint is known to have one bound."
        )
    return lambda bound: replace(given, bound=bound)


def _path(
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
    if folder is not None:
        identity = {"bounds": bounds, "rows": rows.y.size, "estimator": repr(estimator)[:2000]}
        store = Checkpoint(folder / f"split-{number}.checkpoint")
        stored = store.load(identity)
        points = [] if stored is None else stored["points"]
    if len(points) == len(bounds):
        return points
    scales = column_scales(owner, rows.X, rows.weight)
    model = LinearModel(rows.X, estimator.fit_intercept, *scales)
    plain = fit_plain(estimator, model, rows)
    groups = None if groups is None else Groups(groups, rows.y.size)  # read once for all bounds
    fits: list[tuple[float, Kept]] = []
    binding, problem = None, None
    for bound in bounds[len(points) :]:
        started = time.perf_counter()
        moved = rebound(binding, problem, estimator.constraints, rule(bound))
        estimator.constraints = rule(bound)
        if moved is None:
            binding = bind_constraints(estimator, rows, groups, plain.loss)
            moved = binding, penalised(estimator, model, binding, rows)
        binding, problem = moved
        x0 = None
        if not fits and points:  # resumed: start from the last point that was stored
            x0 = model.parameters(points[-1].coef, points[-1].intercept)
        fit = fit_constrained(estimator, problem, binding, plain, ahead(fits, bound), x0)
        fits = [*fits[-1:], (bound, fit)]
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
            store.save({"identity": identity, "points": points})
        if progress:
            print(f"split {number}: {point}", flush=True)
    return points


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
    binding = bind_constraints(estimator, rows, groups, 1.0)
    scores = np.asarray(rows.X @ coef.astype(rows.X.dtype, copy=False)) + intercept
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
