"""Estimators on tensors: rows stay on their device, in `fit` and in predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise import _check
from equipoise._array import Array, namespace, to_numpy
from equipoise._positive import with_positive_last
from equipoise.models import linear_scores
from equipoise.rows import DeviceTable

# Columns whose values are larger than this many times their range need double precision: single
# precision would leave five digits or less of what differs between rows. Chosen.
MAX_SIZE_IN_RANGES = 100.0


def read_tensors(
    estimator: Any, X: Array, y: Any, sensitive_features: Any, sample_weight: Any
) -> DeviceTable:
    """Check features, labels, weights and groups, of which the features are a tensor."""
    owner = type(estimator).__name__
    X = checked_tensor(owner, X)
    if X.shape[0] < 2:
        _check.fail(owner, "X", "must have at least two rows", tuple(X.shape))
    xp = namespace(X)
    if X.dtype == xp.float32 and is_far(xp.min(X, axis=0), xp.max(X, axis=0)):
        X = xp.astype(X, xp.float64)
    table = DeviceTable(y, X, sensitive_features, weight=sample_weight, owner=owner)
    table.labels, turned = _positive_last(owner, estimator, table.labels)
    if turned:
        table.positive = ~table.positive
    if 0 in table.class_totals():
        _check.fail(owner, "y", "must have rows of both classes with a weight", table.classes)
    estimator.n_features_in_ = int(X.shape[1])
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return table


def checked_tensor(owner: str, X: Array, columns: int | None = None) -> Array:
    """Return features as a tensor of finite floating-point numbers."""
    shape, wanted = tuple(X.shape), "d" if columns is None else columns
    if len(shape) != 2 or shape[0] == 0 or shape[1] != (columns or max(1, shape[1])):
        _check.fail(owner, "X", f"must be a tensor of shape (n, {wanted})", shape)
    if X.is_complex() or str(X.dtype).endswith("bool"):
        _check.fail(owner, "X", "must be a tensor of real numbers", str(X.dtype))
    xp = namespace(X)
    X = X.detach()
    if X.dtype not in (xp.float32, xp.float64):
        X = xp.astype(X, xp.float64 if not X.is_floating_point() else xp.float32)
    if not bool(xp.isfinite(X.sum())) and not bool(xp.isfinite(X).all()):  # the sum may overflow
        _check.fail(owner, "X", "must be finite, without NaN", "a value that is not")
    return X


def tensor_scores(estimator: Any, X: Array) -> Array:
    """Return the scores of a fitted estimator for the rows of a tensor."""
    owner = type(estimator).__name__
    X = checked_tensor(owner, X, estimator.n_features_in_)
    if str(estimator.dtype_) == "float64":  # no less precise than the fit
        X = namespace(X).astype(X, namespace(X).float64)
    return linear_scores(X, estimator.coef_, estimator.intercept_)


def tensor_labels(labels: np.ndarray, places: Array) -> Array:
    """Return the labels at places (n,): a tensor beside these, if labels are numbers; else an array."""
    if labels.dtype.kind in "biuf":
        xp = namespace(places)
        return xp.asarray(labels, device=places.device)[places]
    return labels[to_numpy(places).astype(np.intp)]


def tensor_probabilities(slope: float, offset: float, scores: Array) -> Array:
    """Return the probabilities (n, 2) of scores of the second of two classes."""
    xp = namespace(scores)
    logits = slope * scores + offset
    return xp.stack([1.0 / (1.0 + xp.exp(logits)), 1.0 / (1.0 + xp.exp(-logits))], axis=1)


def is_far(low: Any, high: Any) -> bool:
    """Whether a column's values are much farther from 0 than from each other: single precision fails."""
    xp = namespace(low)
    size = xp.maximum(xp.abs(low), xp.abs(high))
    return bool(((high > low) & (size > MAX_SIZE_IN_RANGES * (high - low))).any())


def _positive_last(owner: str, estimator: Any, classes: np.ndarray) -> tuple[np.ndarray, bool]:
    labels = with_positive_last(owner, classes, getattr(estimator, "pos_label", None))
    return labels, labels.tolist() != classes.tolist()
