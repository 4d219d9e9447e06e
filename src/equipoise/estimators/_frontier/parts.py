"""The rows of one split: taken from the data, and prepared by the steps of a pipeline."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from equipoise.estimators._sklearn import naming, take_rows

Data = tuple[Any, ...]  # features, labels, groups, weights


def parted(estimator: Any) -> tuple[Pipeline | None, Any]:
    """Return the steps of a pipeline before the last, if there are any, and the last."""
    if not isinstance(estimator, Pipeline):
        return None, estimator
    return estimator[:-1] if len(estimator) > 1 else None, estimator[-1]


def prepared(steps: Pipeline | None, data: Data, part: tuple[Any, Any]) -> tuple[Data, Data | None]:
    """Return the rows to fit and those held out; the steps are fitted to the first."""
    train, test = (None if index is None else _taken(data, index) for index in part)
    train = data if train is None else train
    if steps is None:
        return train, test
    own: Any = clone(steps)
    with naming("frontier", "X", "estimator"):
        fitted = (own.fit_transform(train[0], train[1]), *train[1:])
        return fitted, None if test is None else (own.transform(test[0]), *test[1:])


def _taken(data: Data, index: Any) -> Data:
    """Return some rows of features, labels, groups and weights; names of columns as they are."""
    n = len(data[1])
    return tuple(_take(values, index, n) for values in data)


def _take(values: Any, index: Any, rows: int) -> Any:
    if values is None or isinstance(values, str):
        return values
    if isinstance(values, dict):
        return {name: take_rows(column, index) for name, column in values.items()}
    length = values.shape[0] if hasattr(values, "shape") else len(values)
    return take_rows(values, index) if length == rows else values
