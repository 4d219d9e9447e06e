"""Audit: what predictions of any model on fresh rows tell of rules for the whole population."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.auditing._audited_rows import AuditedRows
from equipoise.auditing._events import of_a_loss
from equipoise.auditing._labels import two_classes
from equipoise.auditing._lines import BROKEN, HOLDS, UNKNOWN, Audit, AuditLine
from equipoise.auditing._measure import Measure
from equipoise.auditing._rules import Rules
from equipoise.constraints import AUC_PARITIES, Constraint, Inequality
from equipoise.constraints._rules import listed, needing
from equipoise.constraints._sample import Sample
from equipoise.rows import MemoryTable


@_check.owned
def audit(
    y: Any,
    predictions: Any,
    constraints: Constraint | Iterable[Constraint],
    *,
    sensitive_features: Any = None,
    confidence: float = 0.95,
    sample_weight: Any = None,
    scores: Any = None,
    pos_label: Any = None,
) -> Audit:
    """Return what rows that a model has not seen tell of its rules for the population.

    The rows must be independent draws from the population, and must have played no part in the choice
    of the model. Every bound gets a confidence interval that is valid for any number of rows: exact
    binomial limits for one rate, an exact test without splitting the error for differences and ratios
    of two rates, exponential moments for the rest; for AUCs these count as many
    independent pairs as the smaller of the two sets has rows.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of two classes.
    predictions : array of shape (n,)
        The labels that any model predicts; scores, if all rules are on AUCs.
    constraints : Constraint or sequence of them
        ``demographic_parity(0.05)``, ``recall(0.8, group=Each())``, ratios, ... Losses and functions of
        your own are refused.
    sensitive_features : array, Series, data frame or dict of columns, optional
    confidence : float
        The probability with which all intervals are right.
    sample_weight : array of shape (n,), optional
        Must be the same for all rows that a rate is over, such as one weight for each group; rows of weight 0
        are left out. Other weights are refused.
    scores : array of shape (n,), optional
        For rules on AUCs, where `predictions` holds labels.
    pos_label : label, optional
        The positive class; by default the larger label. It must be named where no label and no prediction is
        of it.

    Returns
    -------
    Audit

    Examples
    --------
    >>> import numpy as np
    >>> from equipoise import audit, demographic_parity
    >>> rng = np.random.default_rng(0)
    >>> y, group = rng.integers(2, size=(2, 4000))
    >>> predictions = rng.integers(2, size=4000)
    >>> found = audit(y, predictions, demographic_parity(0.1), sensitive_features=group)
    >>> found.verdict
    'holds'
    """
    owner = "audit"
    confidence = _check.inside(owner, "confidence", confidence, 0.0, 1.0)
    labels = _check.labels(owner, "y", y)
    rules = listed(owner, constraints)
    ranked = bool(rules) and all(_is_of_scores(rule) for rule in rules)
    given = predictions if ranked and scores is None else scores
    name = "predictions" if scores is None else "scores"
    ranks = None if given is None else _check.vector(owner, name, given, labels.size)
    predicted = None if ranked else _check.labels(owner, "predictions", predictions)
    if predicted is not None and predicted.size != labels.size:
        rule = f"must have one entry for each of the {labels.size} rows"
        _check.fail(owner, "predictions", rule, predicted.size)
    classes = two_classes(owner, labels, predicted, pos_label)
    table = MemoryTable(
        labels, None, sensitive_features, weight=sample_weight, classes=classes, owner=owner
    )
    positive = None if predicted is None else predicted == classes[1]
    return audit_rows(AuditedRows(table, positive, ranks, owner), rules, confidence)


def audit_rows(
    rows: AuditedRows,
    constraints: Iterable[Constraint],
    confidence: float,
    pooled: tuple[str, ...] = (),
) -> Audit:
    """Return the audit of rules for the rows of a table; `pooled` groups are taken as one."""
    sample = Sample(rows.table, owner=rows.owner, min_cell=2, small_cells="skip")
    sample.pooled = pooled
    for rule in needing(constraints, "best_loss"):
        raise _check.InputError(rows.owner, of_a_loss(repr(rule)), "constraints")
    expanded = [row for rule in constraints for row in rule.expand(sample)]
    rules = Rules(rows, sample)
    measures = [rules.measure(row) for row in expanded]
    level = (1.0 - confidence) / (2 * max(rules.distinct, 1))
    seen = int(np.count_nonzero(rows.table.weights() > 0))
    lines = [
        _line(row, measure, rules.limits(row, level), 1.0 - confidence, seen)
        for row, measure in zip(expanded, measures)
    ]
    found = _paired(lines, expanded)
    return Audit(found, confidence, seen, sample.skipped, rows.table.classes)


def broken_chance(row: Inequality, measure: Measure, level: float) -> float:
    """Return a p-value of "the population breaks the bound"."""
    if row.sense == "<=":
        return measure.chance(row.bound, level)
    return measure.mirrored().chance(-row.bound, level)


def _line(
    row: Inequality, measure: Measure, limits: tuple[float, float], level: float, seen: int
) -> AuditLine:
    lower, upper = limits
    kept, lost = upper <= row.bound, lower > row.bound
    if row.sense == ">=":
        kept, lost = lower >= row.bound, upper < row.bound
    verdict = HOLDS if kept else BROKEN if lost else UNKNOWN
    needed = math.nan
    if verdict == UNKNOWN:
        needed = rows_needed(seen, measure.value, (lower, upper), row.bound)
    return AuditLine(
        row.name,
        row.sense,
        row.bound,
        measure.value,
        lower,
        upper,
        broken_chance(row, measure, level),
        measure.fewest,
        verdict,
        needed,
    )


def rows_needed(rows: int, value: float, limits: tuple[float, float], bound: float) -> float:
    """Return how many rows would tell on which side of the bound the population is.

    If they gave the same value: limits then come closer like one over the square root of the rows.
    """
    if math.isnan(value) or value == bound:
        return math.nan if math.isnan(value) else math.inf
    reach = limits[1] - value if value < bound else value - limits[0]
    return math.ceil(rows * max(1.0, reach / abs(bound - value)) ** 2)


def with_absent(found: Audit, trained: Iterable[Any]) -> Audit:
    """Return the audit with a line for each bound between groups that no row audited belongs to.

    `trained` are the bounds of a fit, which know its groups.
    """
    names = {line.name for line in found.lines}
    titles = {(line.name.split(":")[0], line.bound) for line in found.lines}
    absent = [
        AuditLine(line.name, line.sense, line.bound, math.nan, -math.inf, math.inf, 1.0, 0, UNKNOWN)
        for line in trained
        if line.name not in names and (line.name.split(":")[0], line.bound) in titles
    ]
    return replace(found, lines=(*found.lines, *absent))


def _paired(lines: list[AuditLine], rows: list[Inequality]) -> tuple[AuditLine, ...]:
    """Return the lines with the names of those that bound the same number from the other side."""
    places: dict[tuple[Any, ...], str] = {}
    for line, row in zip(lines, rows):
        places[(row.kind, row.groups, row.sense, _shape(row))] = line.name
    found = []
    for line, row in zip(lines, rows):
        opposite = places.get((row.kind, row.groups[::-1], row.sense, _shape(row, -1.0)))
        opposite = opposite or places.get((row.kind, row.groups, row.sense, _shape(row, -1.0)))
        other = "<=" if row.sense == ">=" else ">="
        opposite = opposite or places.get((row.kind, row.groups, other, _shape(row)))
        found.append(line if opposite is None else replace(line, mirrored=opposite))
    return tuple(found)


def _shape(row: Inequality, sign: float = 1.0) -> frozenset[Any]:
    parts = () if row.expression is None else row.expression.parts
    return frozenset((sign * factor, part) for factor, part in parts)


def _is_of_scores(rule: Constraint) -> bool:
    """Whether a rule speaks of AUCs alone."""
    expression = getattr(rule, "expression", None)
    if expression is not None:
        return all(part.kind == "auc" for _, part in expression.parts)
    return getattr(rule, "kind", "") in AUC_PARITIES
