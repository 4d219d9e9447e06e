"""Writing the report of a fit: every bound and every group, counted on the training rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise.constraints import Binding
from equipoise.estimators._counted import Candidate
from equipoise.estimators._counts import GroupRates, ModelRates, grouped, wilson
from equipoise.estimators._report import ConstraintLine, GroupLine, Report

# Groups of a sensitive column that the report lists, at the most. Chosen.
MAX_GROUPS_LISTED = 50


def make_report(binding: Binding, fit: Candidate, plain: Candidate) -> Report:
    """Write the report of a fit; `plain` is the model without constraints, measured by the plain problem."""
    rows = plain.problem.rows
    priced = fit.keeps_bounds or fit.result.success
    prices = fit.prices if priced else np.full(fit.prices.size, np.nan)
    other = ModelRates.of(
        binding, rows, plain.x
    )  # one model after the other: its scores are shared
    own = ModelRates.of(binding, rows, fit.x)
    left = {
        "surrogate": binding.measured(fit.smooth, lambda: rows.at(fit.x).values),
        "true": binding.measured(fit.counted, lambda: rows.thresholded(fit.x)),
        "unconstrained": binding.measured(plain.counted, lambda: rows.thresholded(plain.x)),
    }
    lines = tuple(
        ConstraintLine(
            name=row.name,
            sense=row.sense,
            bound=row.bound,
            **{name: float(values[i]) for name, values in left.items()},
            holds=bool(fit.holds[i]),
            multiplier=float(prices[i]) * row.factor,
            groups=row.groups,
        )
        for i, row in enumerate(binding.inequalities)
    )
    groups: list[GroupLine] = []
    for name, column in grouped(binding).items():
        labels = column.labels[:MAX_GROUPS_LISTED]
        groups += _group_lines(column.name, labels, own.by_column[name], other.by_column[name])
    return Report(
        status=fit.result.message if fit.result.success or not lines else _status(fit),
        accuracy=float(own.everyone.accuracy[0]),
        plain_accuracy=float(other.everyone.accuracy[0]),
        constraints=lines,
        groups=tuple(groups),
        residual=fit.result.certificate.residual,
        near=None if fit.result.near is None else fit.result.near.residual,
        problems_solved=fit.problems_solved,
        skipped=binding.skipped,
        classes=binding.table.classes,
        pooled=binding.pooled,
    )


def _group_lines(
    column: str, labels: Sequence[str], own: GroupRates, plain: GroupRates
) -> list[GroupLine]:
    return [
        GroupLine(
            column=column,
            group=label,
            rows=int(own.rows[i]),
            base_rate=float(own.base[i]),
            positive_rate=float(own.positive[i]),
            interval=wilson(float(own.positive[i]), float(own.effective[i])),
            true_positive_rate=float(own.true_positive[i]),
            false_positive_rate=float(own.false_positive[i]),
            accuracy=float(own.accuracy[i]),
            plain_positive_rate=float(plain.positive[i]),
            plain_accuracy=float(plain.accuracy[i]),
        )
        for i, label in enumerate(labels)
    ]


def _status(fit: Candidate) -> str:
    if fit.keeps_bounds and fit.result.verdict.claim is not None:
        return fit.result.message  # it says what became of the bounds
    verdict = "All bounds hold" if fit.keeps_bounds else "Some bounds do NOT hold"
    return f"{verdict} on the counted rates. {fit.result.message}"
