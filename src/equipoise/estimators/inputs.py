"""What a user passes to `fit`, made ready: labels, weights, groups, scales."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from equipoise.constraints import Binding, bind
from equipoise.models.features import canonical

FLOATS = (np.float64, np.float32)
FAR = 100.0  # x the range of a column: the size of its values, beyond which it is far from 0
MOST = 1e20  # the sum of weights; its inverse, the least
TINY = 1e-280  # squares that are lost
CHUNK = 1 << 14  # rows handled at a time


@dataclass(frozen=True)
class Rows:
    """The training rows, checked."""

    X: Any  # (n, d) array or CSR, float64 or float32
    y: np.ndarray  # (n,) labels as given
    classes: np.ndarray  # (K,) sorted labels
    codes: np.ndarray  # (n,) positions in `classes`
    weight: np.ndarray | None  # (n,)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.y.size if self.weight is None else self.weight.sum())


def read_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
    """Check features, labels and weights as scikit-learn does, and find the classes."""
    owner = type(estimator).__name__
    X, y = validate_data(
        estimator, X, y, accept_sparse="csr", dtype=FLOATS, accept_large_sparse=True
    )
    X = canonical(X) if sparse.issparse(X) else X
    X = X.astype(np.float64) if X.dtype == np.float32 and _is_far(X) else X
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    _check_two(owner, classes)
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        _check_two(owner, classes[np.unique(codes[weight > 0])])
        if not 1 / MOST <= weight.sum() <= MOST:
            raise ValueError(
                f"{owner}: `sample_weight` has the sum {weight.sum():.3g}, which leaves the range of "
                f"floating point; weights count like copies of rows, so scale them to a mean near 1."
            )
    return Rows(X, y, classes, codes, weight)


def _is_far(X: Any) -> bool:
    """Whether a column's values are much farther from 0 than from each other: single precision fails."""
    low, high = X.min(axis=0), X.max(axis=0)
    if sparse.issparse(X):
        low, high = low.toarray(), high.toarray()
    size = np.maximum(np.abs(low), np.abs(high))
    return bool(((high > low) & (size > FAR * (high - low))).any())


def split_sensitive(owner: str, X: Any, sensitive_features: Any) -> tuple[Any, Any, tuple]:
    """Take sensitive columns that are given by name out of a data frame `X`.

    Returns
    -------
    X, columns, names
        The features, the sensitive columns, and the names that were taken out of X.
    """
    if isinstance(sensitive_features, str):
        names = [sensitive_features]
    elif _are_names(X, sensitive_features):
        names = list(sensitive_features)
    else:
        return X, sensitive_features, ()
    known = getattr(X, "columns", None)
    if known is None:
        raise ValueError(
            f"{owner}: `sensitive_features` names columns ({', '.join(map(repr, names))}), but X is "
            f"not a data frame; pass the columns themselves."
        )
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(
            f"{owner}: `sensitive_features` names the column {missing[0]!r}, which X does not have. "
            f"Its columns are {', '.join(map(repr, list(known)[:10]))}."
        )
    return without(X, names), {name: X[name] for name in names}, tuple(names)


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
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    return all(value in known for value in values) or len(values) != rows


def bind_rows(owner: str, constraints: Any, *args: Any, **options: Any) -> Binding:
    """Bind constraints; messages about the arguments of `fit` name the estimator."""
    try:
        return bind(constraints, *args, **options)
    except ValueError as error:
        said = str(error)
        if not said.startswith("bind: "):
            raise
        raise ValueError(f"{owner}: {said.removeprefix('bind: ')}") from None


def column_scales(owner: str, X: Any, weight: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the scale and the centre of every column.

    The scale is the standard deviation, the size of a constant column: then features of any unit
    get a fair share of the penalty and of the solver's steps. Where most entries are 0 it is the root
    mean square of the others: so indicators stay as they are, and the penalty does not fade for a
    feature that few rows have. Models apply both inside their products, so that a sparse matrix
    stays as it is.
    """
    n = X.shape[0]
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        center, square, present = _moments(X, share)
    lost = np.flatnonzero(~np.isfinite(square) | ((square < TINY) & (present > 0)))
    if lost.size:
        raise ValueError(
            f"{owner}: the values in column {lost[0]} of X are too large or too small for their "
            f"squares; change its unit."
        )
    variance = np.maximum(square - center**2, 0.0)
    constant = variance <= 1e-12 * square
    far = np.flatnonzero((variance <= 1e-6 * square) & (square > 0))
    if far.size:  # from 0, where the difference of squares is mostly rounding
        variance[far] = _variances(X, share, center, far)
        constant = variance <= np.where(variance <= 1e-6 * square, 1e-24, 1e-12) * square
    if not sparse.issparse(X):
        center = np.where(constant, X[np.argmax(share)], center)  # leaves nothing but rounding
    if constant.all():
        raise ValueError(
            f"{owner}: every column of X is constant up to rounding errors, so there is nothing to "
            f"learn from; give X at least one feature that differs from row to row."
        )
    scale = np.sqrt(np.where(present < 0.5 - 1e-9, square / np.maximum(present, 1e-300), variance))
    return np.where(constant, np.maximum(1.0, np.abs(center)), scale), center


def _variances(X: Any, share: np.ndarray, center: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the weighted variance of some columns."""
    if not sparse.issparse(X):
        return np.array([share @ (X[:, j] - center[j]) ** 2 for j in columns])
    d = X.shape[1]
    total, stored, count = np.zeros(d), np.zeros(d), np.zeros(d)
    for index, data, weights in _parts(X, share):
        total += np.bincount(index, weights * (data - center[index]) ** 2, minlength=d)
        stored += np.bincount(index, weights, minlength=d)
        count += np.bincount(index, minlength=d)
    absent = np.where(count < X.shape[0], 1.0 - stored, 0.0)
    return (total + absent * center**2)[columns]


def _parts(X: Any, share: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield columns, entries and weights of some rows of a CSR matrix at a time."""
    rows = int(np.clip(X.shape[0] // 16, 64, CHUNK))
    for start in range(0, X.shape[0], rows):
        ends = X.indptr[start : start + rows + 1]
        some = slice(ends[0], ends[-1])
        yield X.indices[some], X.data[some], np.repeat(share[start : start + rows], np.diff(ends))


def _moments(X: Any, share: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weighted means over every column: of its entries, of their squares, of those not 0."""
    n, d = X.shape
    if not sparse.issparse(X):  # einsum: no copy of the size of X is made
        mean = np.einsum("i,ij->j", share, X, dtype=np.float64)
        square = np.einsum("i,ij,ij->j", share, X, X, dtype=np.float64)
        parts = range(0, n, CHUNK // 16)  # in the cache of a core
        present = sum(share[i : i + CHUNK // 16] @ (X[i : i + CHUNK // 16] != 0) for i in parts)
        return mean, square, present
    mean, square, present = np.zeros(d), np.zeros(d), np.zeros(d)
    for index, data, weights in _parts(X, share):
        present += np.bincount(index, weights * (data != 0), minlength=d)
        weights *= data
        mean += np.bincount(index, weights, minlength=d)
        weights *= data
        square += np.bincount(index, weights, minlength=d)
    return mean, square, present


def _check_two(owner: str, classes: np.ndarray) -> None:
    """Raise where the labels do not hold two classes, in scikit-learn's words."""
    if len(classes) < 2:
        raise ValueError(
            f"{owner} can't train when only one class is present. This solver needs samples of at "
            f"least 2 classes in the data, but the data contains only one class: {classes.tolist()[0]!r}"
        )
