"""Rules measured on the predictions of any model: gaps between groups, and by how much bounds are broken."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise import _check
from equipoise._positive import with_absent_positive, with_positive_last
from equipoise.constraints import (
    Binding,
    Parity,
    bind,
    demographic_parity,
    equal_opportunity,
    equalized_odds,
)
from equipoise.constraints._rate import Rate
from equipoise.constraints._rules import listed
from equipoise.terms import Scores

LEAST_CELL = 2  # every intersection counts whose rate is more than one prediction


@_check.owned
def demographic_parity_gap(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    """Return the largest difference of two groups' positive rates.

    With several sensitive columns, of two groups of the same column.

    Parameters
    ----------
    y_true, y_pred : array of shape (n,)
        Labels of two classes, and predictions of any model.
    sensitive_features : array, Series, data frame or dict of columns
    sample_weight : array of shape (n,), optional
    pos_label : label, optional
        The positive class; by default the last in sorted order. It must be named where no label and no
        prediction is of it.

    Examples
    --------
    >>> from equipoise.metrics import demographic_parity_gap
    >>> demographic_parity_gap([1, 0, 1, 0], [1, 1, 1, 0], sensitive_features=["F", "F", "M", "M"])
    0.5
    """
    given = (y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return _gap("demographic_parity_gap", demographic_parity(0.0), *given)


@_check.owned
def equal_opportunity_gap(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    """Return the largest difference of two groups' true positive rates; as `demographic_parity_gap`."""
    given = (y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return _gap("equal_opportunity_gap", equal_opportunity(0.0), *given)


@_check.owned
def equalized_odds_gap(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    """Return the largest difference of true or of false positive rates; as `demographic_parity_gap`."""
    given = (y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return _gap("equalized_odds_gap", equalized_odds(0.0), *given)


@_check.owned
def violation(
    y_true: Any,
    y_pred: Any,
    *,
    rules: Any,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    """Return by how much the worst bound of some rules is broken; 0 if predictions keep them all.

    Parameters
    ----------
    y_true, y_pred : array of shape (n,)
        Labels of two classes, and predictions of any model.
    rules : Constraint or sequence of them
        About predictions: ``demographic_parity(0.05)``, ``[recall(at_least=0.9)]``, and so on.
    sensitive_features, sample_weight, pos_label : as in `demographic_parity_gap`
        The groups are needed where a rule speaks of them.

    Examples
    --------
    >>> from equipoise import recall
    >>> from equipoise.metrics import violation
    >>> violation([1, 1, 0, 0], [1, 0, 0, 0], rules=recall(at_least=0.75))
    0.25
    """
    given = (y_true, y_pred, sensitive_features, sample_weight, pos_label)
    binding, left = _measured("violation", listed("violation", rules, "rules"), *given)
    broken = [
        value - row.bound if row.sense == "<=" else row.bound - value
        for row, value in zip(binding.inequalities, left.tolist())
    ]
    return max([0.0, *(value for value in broken if not np.isnan(value))])


@_check.owned
def violation_scorer(rules: Any, *, pos_label: Any = None) -> Any:
    """Return a scikit-learn scorer of minus the violation of some rules: 0 is the best.

    ``violation_scorer(demographic_parity(0.0))`` is minus the gap. It asks for `sensitive_features`, which
    metadata routing passes on: ``violation_scorer(rule).set_score_request(sensitive_features=True)``.

    Parameters
    ----------
    rules : Constraint or sequence of them
    pos_label : label, optional
    """
    from sklearn.metrics import make_scorer

    rules = tuple(listed("violation_scorer", rules, "rules"))
    if pos_label is not None:
        _check.label("violation_scorer", "pos_label", pos_label)
    return make_scorer(violation, greater_is_better=False, rules=rules, pos_label=pos_label)


def _gap(owner: str, rule: Parity, *given: Any) -> float:
    """Return the largest left-hand side of a parity."""
    return float(np.nanmax(_measured(owner, rule, *given)[1]))


def _measured(
    owner: str,
    rules: Any,
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    sample_weight: Any,
    pos_label: Any,
) -> tuple[Binding, np.ndarray]:
    """Return rules bound to labels and groups, and their left-hand sides for predictions."""
    y = _check.labels(owner, "y_true", y_true)
    predicted = _check.labels(owner, "y_pred", y_pred)
    if predicted.size != y.size:
        _check.fail(owner, "y_pred", f"must hold {y.size} predictions", predicted.size)
    classes = np.unique(np.concatenate([y, predicted]))
    if classes.size == 1 and pos_label is not None:
        given = _check.label(owner, "pos_label", pos_label)
        classes = np.array(with_absent_positive(classes.tolist(), given))
    if classes.size != 2:
        rule = "must hold labels of two classes, the same as the predictions"
        _check.fail(owner, "y_true", rule, classes.tolist()[:5])
    labels = with_positive_last(owner, classes, pos_label)
    options = {"classes": labels, "min_cell": LEAST_CELL, "small_cells": "skip"}
    binding = bind(rules, y, sensitive_features, sample_weight, **options)
    for row in binding.inequalities:
        parts = () if row.expression is None else row.expression.parts
        if not parts or any(type(r) is not Rate or r.kind == "loss" for _, r in parts):
            _check.fail(owner, "rules", "must be about predictions", row.name)
    sums = binding.terms.sums.thresholded(Scores(np.where(predicted == labels[1], 1.0, -1.0)))
    values = binding.combination.plain_values(sums)[1:]
    return binding, binding.measured(values, lambda: sums)
