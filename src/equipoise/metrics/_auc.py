"""AUCs between subsets of rows, and gaps of AUCs between groups, by ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise import _check
from equipoise.constraints import auc_parity, bind
from equipoise.terms import Scores
from equipoise.terms._pair_point import PairedRows
from equipoise.terms._ranks import wins

TIES = {"half": 0.5, "strict": 0.0}  # what a pair of equal scores counts


def subset_auc(
    y_score: Any, above: Any, below: Any, *, sample_weight: Any = None, ties: str = "half"
) -> float:
    """Return the share of pairs in which a row of one subset has a higher score than one of another.

    Parameters
    ----------
    y_score : array of shape (n,)
    above, below : boolean arrays of shape (n,)
        The subsets, which may overlap: the two rows of a pair are drawn independently.
    sample_weight : array of shape (n,), optional
        A pair counts with the product of its rows' weights.
    ties : {"half", "strict"}
        A pair of equal scores counts as one half, or not at all.

    Returns
    -------
    float

    Examples
    --------
    >>> from equipoise.metrics import subset_auc
    >>> subset_auc([3.0, 1.0, 2.0], above=[True, False, False], below=[False, True, True])
    1.0
    """
    owner = "subset_auc"
    scores = _check.vector(owner, "y_score", y_score)
    weight = np.ones(scores.size)
    if sample_weight is not None:
        weight = _check.vector(owner, "sample_weight", sample_weight, scores.size)
        if (weight < 0).any():
            _check.fail(owner, "sample_weight", "must be non-negative", weight.min())
    counted = TIES[_check.choice(owner, "ties", ties, TIES)]
    sides = [_check.mask(owner, n, s, scores.size) for n, s in (("above", above), ("below", below))]
    mass = [float(weight[side].sum()) for side in sides]
    for name, total in zip(("above", "below"), mass):
        if total == 0.0:
            _check.fail(owner, name, "must hold rows of positive weight", "none")
    # two copies of the rows, so that subsets may overlap
    joined = PairedRows(
        np.concatenate([scores[side] for side in sides]),
        np.concatenate([weight[side] for side in sides]),
        np.repeat([0, 1], [np.count_nonzero(side) for side in sides]),
        2,
    )
    return float(wins(joined, counted)[0, 1]) / (mass[0] * mass[1])


@_check.owned
def auc_gap(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    kind: str = "inter",
    sample_weight: Any = None,
) -> float:
    """Return the largest difference of AUCs that ``auc_parity(kind, ...)`` bounds, by ranks.

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels of two classes.
    y_score : array of shape (n,)
        Scores of any model, higher for the second class.
    sensitive_features : array, Series, data frame or dict of columns
    kind : {"group", "inter", "intra", "positive", "negative", "background"}
        See `auc_parity`.
    sample_weight : array of shape (n,), optional

    Examples
    --------
    >>> from equipoise.metrics import auc_gap
    >>> auc_gap([1, 0, 1, 0], [2.0, 1.0, 1.0, 0.0], sensitive_features=["F", "F", "M", "M"], kind="group")
    0.375
    """
    y = _check.labels("auc_gap", "y_true", y_true)
    scores = _check.vector("auc_gap", "y_score", y_score, y.size)
    classes = np.unique(y)
    if classes.size != 2:
        rule = "must hold labels of exactly two classes"
        _check.fail("auc_gap", "y_true", rule, classes.tolist())
    binding = bind(auc_parity(kind, 0.0), y, sensitive_features, sample_weight)
    sums = binding.terms.sums
    values = binding.combination.plain_values(sums.thresholded(Scores(scores)))
    return float(values[1:].max())


@_check.owned
def auc_gap_scorer(kind: str = "inter") -> Any:
    """Return a scikit-learn scorer of minus the gap: larger is better.

    It asks for `sensitive_features`, which metadata routing passes on.

    Parameters
    ----------
    kind : str
        See `auc_parity`.
    """
    from sklearn.metrics import make_scorer

    auc_parity(kind, 0.0)  # checks the kind
    return make_scorer(
        auc_gap,
        greater_is_better=False,
        response_method=("decision_function", "predict_proba"),
        kind=kind,
    )
