"""Bounds on one rate: coverage, recall, precision, errors, churn, losses."""

from __future__ import annotations

from typing import Any

from equipoise import _check
from equipoise.constraints._comparison import Comparison
from equipoise.constraints._constraint import Constraint
from equipoise.constraints._expression import rate
from equipoise.constraints._mean import MeanOverGroups
from equipoise.constraints._rate import Each


@_check.owned
def coverage(
    at_least: float | None = None, at_most: float | None = None, *, group: Any = None
) -> Comparison:
    """Return: the share of rows predicted positive is bounded, from below or from above.

    Parameters
    ----------
    at_least, at_most : float
        One of the two, between 0 and 1.
    group : value, dict or Each(), optional
        Only of this group, or of each.
    """
    if (at_least is None) == (at_most is None):
        given = (at_least, at_most)
        rule = "must be given, and only one of them; for both write two constraints"
        _check.fail("coverage", "at_least` or `at_most", rule, given)
    positive = rate("positive", group)
    if at_least is not None:
        return (positive >= _share("coverage", "at_least", at_least)).named("coverage")
    return (positive <= _share("coverage", "at_most", at_most)).named("coverage")


@_check.owned
def recall(at_least: float, *, group: Any = None) -> Comparison:
    """Return: at least this share of the positive class is predicted positive."""
    least = _share("recall", "at_least", at_least)
    return (rate("true_positive", group) >= least).named("recall")


@_check.owned
def precision(at_least: float, *, group: Any = None) -> Comparison:
    """Return: at least this share of the rows predicted positive is of the positive class.

    A ratio of rates. A model that predicts no row positive satisfies it.
    """
    least = _share("precision", "at_least", at_least)
    hits = rate("true_positive", group, per="group")
    return (hits / rate("positive", group) >= least).named("precision")


@_check.owned
def f_score(at_least: float, *, group: Any = None) -> Comparison:
    """Return: the F-score, ``2 P(hit) / (P(predicted positive) + P(positive))``, is at least this.

    A ratio of rates: the harmonic mean of precision and recall.
    """
    least = _share("f_score", "at_least", at_least)
    hits = rate("true_positive", group, per="group")
    positives = hits + rate("false_negative", group, per="group")
    return (2.0 * hits / (rate("positive", group) + positives) >= least).named("F-score")


@_check.owned
def false_positive_rate(at_most: float, *, group: Any = None) -> Comparison:
    """Return: at most this share of the negative class is predicted positive."""
    most = _share("false_positive_rate", "at_most", at_most)
    return (rate("false_positive", group) <= most).named("false positive rate")


@_check.owned
def false_negative_rate(at_most: float, *, group: Any = None) -> Comparison:
    """Return: at most this share of the positive class is predicted negative."""
    most = _share("false_negative_rate", "at_most", at_most)
    return (rate("false_negative", group) <= most).named("false negative rate")


@_check.owned
def error_rate(at_most: float, *, group: Any = None) -> Comparison:
    """Return: at most this share of the rows is predicted wrongly."""
    return (rate("error", group) <= _share("error_rate", "at_most", at_most)).named("error rate")


@_check.owned
def churn(at_most: float, reference: Any, *, group: Any = None) -> Comparison:
    """Return: at most this share of predictions differs from `reference`.

    Parameters
    ----------
    at_most : float
        Between 0 and 1.
    reference : array of labels
        The other model's predictions for the training rows.
    group : value, dict or Each(), optional
    """
    most = _share("churn", "at_most", at_most)
    return (rate("churn", group, reference=reference) <= most).named("churn")


@_check.owned
def bounded_group_loss(
    at_most: float,
    *,
    loss: Any = None,
    column: Any = None,
    groups: Any = None,
    intersections: bool = False,
) -> Comparison:
    """Return: the mean loss of every group is at most `at_most`.

    Parameters
    ----------
    at_most : float
        In units of the loss; ``log 2 = 0.69`` is the logistic loss of a model that knows nothing.
    loss : Pointwise or str, optional
        By default the loss that is minimised.
    column, groups, intersections : optional
        Which groups; see `Each`.
    """
    most = _check.non_negative("bounded_group_loss", "at_most", at_most)
    each = Each(column, groups, intersections)
    return (rate("loss", each, loss=loss) <= most).named("bounded group loss")


@_check.owned
def group_loss(
    excess: float,
    *,
    loss: Any = None,
    mode: str = "all",
    column: Any = None,
    groups: Any = None,
    intersections: bool = False,
) -> Constraint:
    """Return: the mean loss of every group is at most `excess` above everyone's (the PLADA paper).

    Parameters
    ----------
    excess : float
        In units of the loss.
    loss : Pointwise or str, optional
        By default the loss that is minimised.
    mode : {"all", "mean"}
        One constraint for each group; or one for the mean over groups, as that paper has it.
    column, groups, intersections : optional
        Which groups; see `Each`. Overlapping groups are columns of booleans, with ``groups=(True,)``.
    """
    most = _check.non_negative("group_loss", "excess", excess)
    _check.choice("group_loss", "mode", mode, ("all", "mean"))
    each = Each(column, groups, intersections)
    above = rate("loss", each, loss=loss) - rate("loss", loss=loss) <= most
    above = above.named("group loss")
    return above if mode == "all" else MeanOverGroups(above)


def _share(owner: str, parameter: str, value: Any) -> float:
    return _check.between(owner, parameter, value, 0.0, 1.0)
