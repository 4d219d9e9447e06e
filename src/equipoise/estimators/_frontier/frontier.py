"""The whole trade-off: one certified model for each bound, by continuation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit

from equipoise import _check
from equipoise.estimators._frontier.curve import Frontier
from equipoise.estimators._frontier.path import Rule, fit_path
from equipoise.estimators._threads import suitable_threads


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
    """Fit a model for every bound, the largest first, each starting from the last.

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
    if not hasattr(estimator, "constraints"):
        _check.fail(owner, "estimator", "must be a ConstrainedClassifier", estimator)
    given = np.atleast_1d(np.asarray(bounds, dtype=object)).ravel()
    if not given.size or not all(isinstance(bound, Real) for bound in given):
        _check.fail(owner, "bounds", "must hold numbers, at least one", bounds)
    listed = sorted({float(bound) for bound in given}, reverse=True)
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
            delayed(fit_path)(clone(estimator), data, part, listed, rule, number, folder, progress)
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
