"""The whole trade-off: one certified model for each bound, by continuation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit
from sklearn.utils import check_consistent_length

from equipoise import _check
from equipoise.constraints import Constraint
from equipoise.estimators._auc_classifier import AUCClassifier
from equipoise.estimators._classifier import ConstrainedClassifier
from equipoise.estimators._frontier.curve import Frontier
from equipoise.estimators._frontier.parts import parted, prepared
from equipoise.estimators._frontier.path import Rule, fit_path
from equipoise.estimators._inputs import split_sensitive
from equipoise.estimators._promise.parts import HoldingOut
from equipoise.estimators._sklearn import check_parameters, naming
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
    estimator : ConstrainedClassifier or AUCClassifier, or Pipeline that ends with one
        Its settings but `scoring`: points are first fits. It is not changed. The steps before are fitted to
        the training rows of every split, and coefficients are those of what they return.
    X, y, sensitive_features, sample_weight : as in ``estimator.fit``
    bounds : sequence of float
    rule : callable, optional
        ``bound -> constraints``; by default the estimator's constraint, if it is one, with another
        bound.
    splits : int
        0: fit on all rows, or, if the estimator has a `confidence`, on those that are not held out.
        Otherwise fit on so many random training parts, and measure on the rows held out: error bars.
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
        The points, with the accuracy of a classifier, or the AUC of one that ranks; `knee`, `summary`,
        `to_frame`, `plot`. If the estimator has a `confidence`, every point has a bound that is
        `promised` for the population, all of them at once.

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
    steps, estimator = parted(estimator)
    _check.kind(owner, "estimator", estimator, ConstrainedClassifier, AUCClassifier)
    given = _check.vector(owner, "bounds", [bounds] if _check.is_number(bounds) else bounds)
    if not given.size:
        _check.fail(owner, "bounds", "must hold at least one number", bounds)
    listed = sorted(set(given.tolist()), reverse=True)
    rule = _rule_of(estimator) if rule is None else _check.function(owner, "rule", rule)
    for bound in listed:
        wanted = rule(bound)  # errors come before the work
        if not isinstance(wanted, Constraint):
            _check.sequence(owner, "rule", wanted, Constraint)
    splits = _check.count(owner, "splits", splits)
    test_size = _check.inside(owner, "test_size", test_size, 0.0, 1.0)
    progress = _check.flag(owner, "progress", progress)
    n_jobs = _jobs(n_jobs)
    check_parameters(estimator)
    folder = None if checkpoint is None else Path(_check.path(owner, "checkpoint", checkpoint))
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    parts = _divisions(estimator, X, y, splits, test_size)
    if steps is not None:  # which may not leave the columns that are named
        X, sensitive_features, _ = split_sensitive(owner, X, sensitive_features)
    data = (X, y, sensitive_features, sample_weight)
    with suitable_threads(X):
        paths = Parallel(n_jobs=n_jobs if splits else 1)(
            delayed(fit_path)(
                clone(estimator),
                prepared(steps, data, part),
                listed,
                rule,
                number,
                folder,
                progress,
            )
            for number, part in enumerate(parts)
        )
    return Frontier(tuple(point for path in paths for point in path))


def _divisions(
    estimator: Any, X: Any, y: Any, splits: int, test_size: float
) -> list[tuple[Any, Any]]:
    """Return the rows to fit and those held out, for every split; None for all rows, and for none."""
    owner = "frontier"
    if estimator.confidence is not None:
        if splits:
            _check.fail(owner, "splits", "must be 0 where the estimator has a `confidence`", splits)
        with naming(owner, "X", "y"):
            check_consistent_length(X, y)
        return [HoldingOut.of(estimator).divided(owner, _check.labels(owner, "y", y).size)]
    if not splits:
        return [(None, None)]
    shuffle = ShuffleSplit(splits, test_size=test_size, random_state=estimator.random_state or 0)
    with naming(owner, "X", "y", "test_size"):
        check_consistent_length(X, y)
        return list(shuffle.split(X))


def _jobs(n_jobs: Any) -> int | None:
    """Return how many splits are fitted at a time; negative numbers count down from all processors."""
    if n_jobs is None:
        return None
    jobs = _check.count("frontier", "n_jobs", n_jobs, least=-_check.LARGEST_COUNT)
    if jobs == 0:
        _check.fail("frontier", "n_jobs", "must not be 0", n_jobs)
    return jobs


def _rule_of(estimator: Any) -> Rule:
    """Return the estimator's constraint as a function of its bound."""
    given = estimator.constraints
    if isinstance(given, list | tuple) and len(given) == 1:
        given = given[0]
    if not hasattr(given, "bound"):
        reason = (
            "`rule` must say how the bound enters, e.g. rule=lambda b: recall(at_least=b); only a "
            "single constraint is known to have one bound."
        )
        raise _check.InputError("frontier", reason, "rule")
    return lambda bound: replace(given, bound=bound)
