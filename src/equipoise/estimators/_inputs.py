"""What a user passes to `fit`, checked and made a table of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from equipoise import _check
from equipoise._array import is_tensor, on_host
from equipoise._positive import with_positive_last
from equipoise.estimators._sklearn import check_sample_weight, naming
from equipoise.estimators._tensors import is_far, read_tensors
from equipoise.models import canonical
from equipoise.rows import MemoryTable

FLOATS = (np.float64, np.float32)

# The largest sum of weights; its inverse is the least. Beyond, products of weights and squared features
# leave the range of floating point. Chosen.
MAX_WEIGHT_SUM = 1e20


def read_table(
    estimator: Any,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    tensors: bool = False,
) -> tuple[Any, tuple[Any, ...]]:
    """Check features, labels, weights and groups as scikit-learn does.

    With `tensors`, features that are a tensor stay one; else they are brought to the host.

    Returns
    -------
    table, names
        The rows (a `MemoryTable`, or a `DeviceTable` of tensors), the positive of two classes last, and
        the names of sensitive columns that were
        taken out of `X`.
    """
    owner = type(estimator).__name__
    if tensors and is_tensor(X):
        return read_tensors(estimator, X, y, sensitive_features, sample_weight), ()
    X, y, sample_weight = on_host(X), on_host(y), on_host(sample_weight)
    X, columns, names = split_sensitive(owner, X, sensitive_features)
    with naming(owner, "X", "y"):
        X, y = validate_data(
            estimator, X, y, accept_sparse="csr", dtype=FLOATS, accept_large_sparse=True
        )
        check_classification_targets(y)
    X = precise(X)
    classes = np.unique(y)
    _check_two(owner, classes)
    weight = None
    if sample_weight is not None:
        weight = read_weight(owner, sample_weight, X)
        _check_two(owner, np.unique(y[weight > 0]))
    labels = with_positive_last(owner, classes, getattr(estimator, "pos_label", None))
    table = MemoryTable(y, X, columns, weight=weight, classes=labels, owner=owner)
    return table, names


def read_other(
    estimator: Any, classes: Sequence[Any], X: Any, y: Any, sensitive_features: Any = None
) -> MemoryTable:
    """Check other rows, of the classes of a table that was read before for the same estimator."""
    owner = f"{type(estimator).__name__}.validation"
    X, columns, _ = split_sensitive(owner, on_host(X), sensitive_features)
    with naming(owner, "X"):
        X = validate_data(estimator, X, accept_sparse="csr", dtype=FLOATS, reset=False)
    labels = _check.labels(owner, "y", on_host(y))
    unknown = set(np.unique(labels).tolist()) - set(classes)
    if unknown:
        _check.fail(owner, "y", f"must hold the labels {list(classes)}", unknown)
    return MemoryTable(labels, precise(X), columns, classes=classes, owner=owner)


def precise(X: Any) -> Any:
    """Return features as they are computed with: sparse ones in order, in double precision where needed."""
    X = canonical(X) if sparse.issparse(X) else X
    return X.astype(np.float64) if X.dtype == np.float32 and _is_far(X) else X


def read_weight(owner: str, sample_weight: Any, X: Any, may_vanish: bool = False) -> np.ndarray:
    """Check the weights of the rows of `X`; they `may_vanish` where more rows are to come."""
    with naming(owner, "sample_weight"):
        weight = check_sample_weight(sample_weight, X, may_vanish)
    with np.errstate(over="ignore"):
        total = weight.sum()
    if may_vanish and total == 0.0:
        return weight
    if not 1 / MAX_WEIGHT_SUM <= total <= MAX_WEIGHT_SUM:
        reason = (
            f"`sample_weight` has the sum {total:.3g}, which leaves the range of floating point; "
            "weights count like copies of rows, so scale them to a mean near 1."
        )
        raise _check.InputError(owner, reason, "sample_weight")
    return weight


def _is_far(X: Any) -> bool:
    """Whether single precision leaves too little of what differs between rows."""
    low, high = X.min(axis=0), X.max(axis=0)
    if sparse.issparse(X):
        low, high = low.toarray(), high.toarray()
    return is_far(low, high)


def split_sensitive(owner: str, X: Any, sensitive_features: Any) -> tuple[Any, Any, tuple]:
    """Take sensitive columns that are given by name out of a data frame `X`.

    Returns
    -------
    X, columns, names
        The features, the sensitive columns, and the names that were taken out of X.
    """
    if X is None:
        _check.fail(owner, "X", "must be a matrix (n, d)", X)
    if isinstance(sensitive_features, str):
        names = [sensitive_features]
    elif _are_names(X, sensitive_features):
        names = list(sensitive_features)
    else:
        return X, sensitive_features, ()
    known = getattr(X, "columns", None)
    if known is None:
        reason = (
            f"`sensitive_features` names columns ({', '.join(map(repr, names))}), but X is not a "
            "data frame; pass the columns themselves."
        )
        raise _check.InputError(owner, reason, "sensitive_features")
    missing = [name for name in names if name not in known]
    if missing:
        reason = (
            f"`sensitive_features` names the column {missing[0]!r}, which X does not have. "
            f"Its columns are {', '.join(map(repr, list(known)[:10]))}."
        )
        raise _check.InputError(owner, reason, "sensitive_features")
    rest = without(X, names)
    if rest.shape[1] == 0:
        reason = "`sensitive_features` names all columns of X; none is left to learn from."
        raise _check.InputError(owner, reason, "sensitive_features")
    return rest, {name: X[name] for name in names}, tuple(names)


def without(X: Any, names: Any) -> Any:
    """Return a data frame without these columns; anything else as it is."""
    known = getattr(X, "columns", None)
    if known is None or not any(name in known for name in names):
        return X
    return X[[name for name in known if name not in names]]


def _are_names(X: Any, values: Any) -> bool:
    """A list of strings names columns, unless it is as long as the data: then it holds groups."""
    if not isinstance(values, list) or not values or not all(isinstance(v, str) for v in values):
        return False
    known = getattr(X, "columns", ())
    shape = np.shape(X) if isinstance(X, list | tuple) else getattr(X, "shape", ())
    return all(value in known for value in values) or len(values) != next(iter(shape), None)


def _check_two(owner: str, classes: np.ndarray) -> None:
    """Raise where the labels do not hold two classes, in scikit-learn's words."""
    if len(classes) < 2:
        raise ValueError(
            f"{owner} can't train when only one class is present. This solver needs samples of at "
            f"least 2 classes in the data, but the data contains only one class: {classes.tolist()[0]!r}"
        )
