"""What the baselines read, and how their linear models score rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from equipoise import _check
from equipoise.estimators._inputs import read_table, without
from equipoise.estimators._sklearn import naming
from equipoise.models import LinearModel, LinearUnits, linear_scores
from equipoise.problems._auc_fairness import pairs_of
from equipoise.problems._auc_inputs import all_compared
from equipoise.rows import column_scales


@dataclass(frozen=True)
class TwoGroups:
    """Training rows of two classes and two groups, and a linear model of them without intercept.

    Attributes
    ----------
    model : LinearModel
        Of scaled and centred columns, on which no AUC depends.
    units : LinearUnits
        From its parameters to coefficients of the columns as given.
    positive, member : boolean arrays of shape (n,)
        The second class, and the second group in sorting order.
    """

    model: LinearModel
    units: LinearUnits
    positive: np.ndarray
    member: np.ndarray


def read_two_groups(estimator: Any, X: Any, y: Any, sensitive_features: Any) -> TwoGroups:
    """Check what `fit` was given, and keep on the estimator what predictions need."""
    owner = type(estimator).__name__
    table, names = read_table(estimator, X, y, sensitive_features, None)
    if len(table.classes) != 2:
        _check.fail(owner, "y", "must have two classes", len(table.classes))
    estimator.classes_, estimator.sensitive_names_ = table.labels, names
    scales = column_scales(owner, table)
    return TwoGroups(
        LinearModel(table.X, False, *scales),
        LinearUnits(table.n_columns, False, *scales),
        table.positive,
        two_groups(owner, table.groups)[0],
    )


def two_groups(owner: str, groups: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows are in the second of two groups, and the values of both."""
    require_groups(owner, groups)
    columns = list(groups.columns.values())
    if len(columns) != 1:
        _check.fail(
            owner, "sensitive_features", "must be one column; the columns given are", len(columns)
        )
    if len(columns[0].values) != 2:
        _check.fail(owner, "sensitive_features", "must hold two groups", list(columns[0].labels))
    return columns[0].codes == 1, np.array(columns[0].values)


def require_groups(owner: str, groups: Any) -> None:
    """Raise where no groups are given."""
    if groups is None:
        reason = "groups are needed; pass `sensitive_features`."
        raise _check.InputError(owner, reason, "sensitive_features")


def require_compared(owner: str, kind: str, positive: np.ndarray, member: np.ndarray) -> None:
    """Raise where a subset has no rows whose AUCs are compared."""
    counts = np.bincount(2 * positive + member, minlength=4)
    all_compared(owner, "sensitive_features", pairs_of(owner, kind), counts)


class LinearRanker:
    """A mixin for estimators with `coef_` and `intercept_` that only rank."""

    coef_: np.ndarray
    intercept_: np.ndarray

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores (n,)."""
        check_is_fitted(self, "coef_")
        X = without(X, getattr(self, "sensitive_names_", ()))
        with naming(type(self).__name__, "X"):
            X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return linear_scores(X, self.coef_, self.intercept_)
