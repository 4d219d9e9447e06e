"""A model's scores, with those of one group scaled and shifted (Kallus & Zhou 2019)."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from equipoise import _check
from equipoise.baselines._rows import require_compared, require_groups, two_groups
from equipoise.baselines._transforms import SCALES, SHIFTS, Transforms
from equipoise.constraints import AUC_PARITIES
from equipoise.estimators import AUCClassifier, InfeasibleWarning
from equipoise.estimators._inputs import read_table
from equipoise.estimators._sklearn import Interval, StrOptions, check_parameters
from equipoise.rows import MemoryGroups


@dataclass(eq=False, repr=False)
class ScorePostProcessing(BaseEstimator):
    """A fitted model whose scores are scaled and shifted in one of two groups, to keep a bound on AUCs.

    Of all transforms on a grid, the one with the largest AUC within the bound on the rows given to `fit`.
    AUCs within a group do not change, so ``"intra"`` gaps cannot be mended. The group has to be known
    when scores are asked for.

    Parameters
    ----------
    estimator : object with `decision_function`, optional
        By default an `AUCClassifier` without constraints.
    kind : str
        See `auc_parity`.
    bound : float
    prefit : bool
        The estimator is fitted: `fit` only chooses the transform, best on rows that it has not seen.
    scales, shifts : array-like, optional
        By default 0, 0.05, .. 5 and -3, -2.9, .. 3. The scores of the second group, in sorting order, become
        ``scale * score + shift``.

    Attributes
    ----------
    estimator_ : object
    scale_, shift_ : float
    transforms_ : Transforms
        The AUCs for the whole grid, on the rows given to `fit`.
    groups_ : ndarray of shape (2,)
    classes_, n_features_in_ : as in scikit-learn.

    References
    ----------
    Kallus & Zhou 2019, with the transforms of Yao, Lin & Yang 2023.

    Examples
    --------
    >>> from equipoise.baselines import ScorePostProcessing
    >>> from equipoise.datasets import make_census
    >>> from equipoise.metrics import auc_gap
    >>> data = make_census(2000, seed=0)
    >>> model = ScorePostProcessing(kind="group", bound=0.02)
    >>> model = model.fit(data.X, data.y, sensitive_features=data.groups)
    >>> scores = model.decision_function(data.X, sensitive_features=data.groups)
    >>> auc_gap(data.y, scores, sensitive_features=data.groups, kind="group") <= 0.02
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "kind": [StrOptions(set(AUC_PARITIES))],
        "bound": [Interval(Real, 0, 1, closed="both")],
        "prefit": ["boolean"],
    }

    estimator: Any = None
    _: KW_ONLY
    kind: str = "inter"
    bound: float = 0.05
    prefit: bool = False
    scales: Any = None
    shifts: Any = None

    def fit(self, X: Any, y: Any, sensitive_features: Any = None) -> ScorePostProcessing:
        """Fit the estimator, and choose the transform.

        Parameters
        ----------
        X, y, sensitive_features : as in `CorrelationPenalty.fit`
        """
        check_parameters(self)
        owner = type(self).__name__
        scales, shifts = _grid("scales", self.scales, SCALES), _grid("shifts", self.shifts, SHIFTS)
        if (scales < 0).any():
            _check.fail(owner, "scales", "must be non-negative", float(scales.min()))
        given = AUCClassifier() if self.estimator is None else self.estimator
        if not hasattr(given, "decision_function"):
            _check.fail(owner, "estimator", "must have a `decision_function`", given)
        if self.prefit and self.estimator is None:
            _check.fail(owner, "estimator", "must be given where it is fitted already", None)
        table, _ = read_table(self, X, y, sensitive_features, None)
        if len(table.classes) != 2:
            _check.fail(owner, "y", "must have two classes", len(table.classes))
        member, groups = two_groups(owner, table.groups)
        require_compared(owner, self.kind, table.positive, member)
        fitted = given if self.prefit else clone(given).fit(X, y)
        found = Transforms.of(fitted.decision_function(X), table.positive, member, scales, shifts)
        scale, shift, met = found.best(self.kind, self.bound)
        if not met:
            least = float(found.measured.gap(self.kind).min())
            warnings.warn(
                f"{owner}: no transform keeps the bound {self.bound:g}; the gap is {least:.4g}.",
                InfeasibleWarning,
                stacklevel=2,
            )
        self.groups_, self.classes_ = groups, table.labels
        self.estimator_, self.transforms_ = fitted, found
        self.scale_, self.shift_ = scale, shift
        return self

    def decision_function(self, X: Any, sensitive_features: Any = None) -> np.ndarray:
        """Return the scores (n,) of rows whose groups are given."""
        check_is_fitted(self, "estimator_")
        owner = type(self).__name__
        require_groups(owner, sensitive_features)
        scores = self.estimator_.decision_function(X)
        groups = MemoryGroups(sensitive_features, scores.size, owner)
        (column,) = groups.arrays.values()
        member = column == self.groups_[1]
        unknown = column[~member & (column != self.groups_[0])]
        if unknown.size:
            rule = f"must hold the groups {self.groups_.tolist()}"
            _check.fail(owner, "sensitive_features", rule, unknown.tolist()[0])
        return np.where(member, self.scale_ * scores + self.shift_, scores)


def _grid(parameter: str, given: Any, default: np.ndarray) -> np.ndarray:
    """Return the numbers of one side of the grid."""
    if given is None:
        return default
    found = _check.vector("ScorePostProcessing", parameter, given)
    if not found.size:
        _check.fail("ScorePostProcessing", parameter, "must not be empty", found.size)
    return found
