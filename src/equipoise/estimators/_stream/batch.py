"""A batch of a stream: what a user passes to `partial_fit`, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from equipoise import _check
from equipoise._positive import with_positive_last
from equipoise.constraints._rules import listed
from equipoise.estimators._inputs import FLOATS, read_weight, split_sensitive
from equipoise.estimators._sklearn import naming
from equipoise.estimators._stream.cells import Key
from equipoise.rows import MemoryGroups


@dataclass(frozen=True, eq=False)
class Batch:
    """One row or many.

    Attributes
    ----------
    X : array or CSR matrix of shape (n, d)
    weight : ndarray of shape (n,)
    classes : ndarray of shape (2,)
        The negative and the positive one.
    columns : tuple of str
        The names of the sensitive columns; none where no groups are given.
    taken_out : tuple of str
        Those of them that were columns of the user's data frame.
    keys : list of Key
        The cells that occur.
    key_of_row : ndarray of shape (n,)
        The position of each row's cell in `keys`.
    """

    X: Any
    weight: np.ndarray
    classes: np.ndarray
    columns: tuple[str, ...]
    taken_out: tuple[Any, ...]
    keys: list[Key]
    key_of_row: np.ndarray


def read_batch(
    estimator: Any, X: Any, y: Any, classes: Any, sensitive_features: Any, sample_weight: Any
) -> Batch:
    """Check what a user passes; the first batch decides on classes, features and sensitive columns."""
    owner, stream = type(estimator).__name__, getattr(estimator, "stream_", None)
    X, features, taken_out = split_sensitive(owner, X, sensitive_features)
    with naming(owner, "X", "y"):
        X, y = validate_data(
            estimator, X, y, accept_sparse="csr", dtype=FLOATS, reset=stream is None
        )
    known = with_positive_last(owner, _classes(estimator, classes), estimator.pos_label)
    if stream is not None and known[1] != stream.classes[1]:
        rule = f"must be that of the first call to partial_fit, {stream.classes[1]!r}"
        _check.fail(owner, "pos_label", rule, estimator.pos_label)
    positive = y == known[1]
    unknown = ~(positive | (y == known[0]))
    if unknown.any():
        _check.fail(owner, "y", f"must hold the `classes` {known.tolist()}", y[unknown].tolist()[0])
    weight = np.ones(len(y))
    if sample_weight is not None:
        weight = read_weight(owner, sample_weight, X, may_vanish=True)
    groups = None if features is None else MemoryGroups(features, len(y), owner)
    columns = () if groups is None else tuple(groups.columns)
    _check_rules(estimator, columns)
    if stream is not None and columns != stream.columns:
        rule = f"must have the columns of the first call, {list(stream.columns)}"
        _check.fail(owner, "sensitive_features", rule, list(columns))
    keys, key_of_row = _cells(positive, groups)
    return Batch(X, weight, known, columns, taken_out, keys, key_of_row)


def _classes(estimator: Any, classes: Any) -> np.ndarray:
    """Return the two classes, given in the first call and the same in all others."""
    owner, first = type(estimator).__name__, getattr(estimator, "classes_", None)
    if classes is None:
        if first is None:
            raise ValueError(f"{owner}: `classes` must be passed on the first call to partial_fit.")
        return first
    known = np.unique(_check.labels(owner, "classes", classes))
    if first is not None and hasattr(estimator, "stream_") and not np.array_equal(known, first):
        rule = f"must be those of the first call, {first.tolist()}"
        _check.fail(owner, "classes", rule, known.tolist())
    if len(known) != 2:
        raise ValueError(
            f"Only binary classification is supported. {owner}: `classes` must be two, got "
            f"{known.tolist()}."
        )
    return known


def _check_rules(estimator: Any, columns: tuple[str, ...]) -> None:
    """Raise for what a stream cannot know: all rows at once, groups that are not given."""
    owner = type(estimator).__name__
    if isinstance(getattr(estimator, "class_weight", None), str):
        raise ValueError(
            f"{owner}: class_weight='balanced' is not known before all rows are seen; for "
            "partial_fit give a dict of weights."
        )
    for name in ("confidence", "margin"):
        if getattr(estimator, name, None) is not None:
            reason = "must be None in partial_fit, which says nothing of rows to come"
            _check.fail(owner, name, reason, getattr(estimator, name))
    for rule in listed(owner, estimator.constraints):
        if "all_rows" in rule.needs:
            reason = "must not be functions of all rows (custom, churn) in partial_fit"
            _check.fail(owner, "constraints", reason, rule)
        if "groups" in rule.needs and not columns:
            reason = "groups are needed; pass `sensitive_features` to partial_fit."
            raise _check.InputError(owner, reason, "sensitive_features")


def _cells(positive: np.ndarray, groups: MemoryGroups | None) -> tuple[list[Key], np.ndarray]:
    """Return the cells that occur, and the position of each row's."""
    code = positive.astype(np.int64)
    columns = [] if groups is None else list(groups.columns.values())
    for column in columns:
        assert column.codes is not None
        code = code * len(column.values) + column.codes
    found, key_of_row = np.unique(code, return_inverse=True)
    keys: list[Key] = []
    for number in found.tolist():
        values: list[Any] = []
        for column in reversed(columns):
            number, at = divmod(number, len(column.values))
            values.append(column.values[at])
        keys.append((number, tuple(reversed(values))))
    return keys, key_of_row.ravel()
