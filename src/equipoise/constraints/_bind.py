"""Binding: constraints as data meet the training rows, and become functions of sums over them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise.constraints._binding import Binding
from equipoise.constraints._constraint import Constraint, Inequality
from equipoise.constraints._expression import Expression
from equipoise.constraints._objective import Unfairness
from equipoise.constraints._quotient import Quotient
from equipoise.constraints._rate import Rate
from equipoise.constraints._rate_table import Line, RateTable
from equipoise.constraints._rules import defined, listed
from equipoise.constraints._sample import Sample
from equipoise.rows import FunctionSpec, MemoryTable, Table
from equipoise.terms import (
    Combination,
    Functional,
    Pointwise,
    Ratio,
    Sigmoid,
    SquaredGaps,
    loss_of,
)


def bind(
    constraints: Constraint | Iterable[Constraint],
    y: Any,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    *,
    objective_weight: Any = None,
    classes: Any = None,
    **options: Any,
) -> Binding:
    """Bind constraints to labels, groups and weights in memory.

    Parameters
    ----------
    constraints : Constraint or sequence of them
    y : array of shape (n,)
        Labels of two classes.
    sensitive_features : array, Series, DataFrame or dict of columns, optional
        The groups; one column or several.
    sample_weight : array of shape (n,), optional
        Rows of weight 0 count for no rate.
    objective_weight : array of shape (n,), optional
        Weights of the objective and of `loss_budget`, if others than of the constraints: class
        weights, or a constraint on other rows than the loss.
    classes : pair of labels, optional
        The negative and the positive class, if `y` may lack one or is not to be sorted.
    **options
        As in `bind_table`.

    Returns
    -------
    Binding
    """
    if classes is not None and len(_check.sequence("bind", "classes", classes)) != 2:
        _check.fail("bind", "classes", "must be the two classes of `y`", classes)
    table = MemoryTable(
        y,
        None,
        sensitive_features,
        weight=sample_weight,
        objective_weight=objective_weight,
        classes=classes,
        owner="bind",
    )
    return bind_table(constraints, table, **options)


def bind_table(
    constraints: Constraint | Iterable[Constraint],
    table: Table,
    *,
    loss: Pointwise | str = "logistic",
    objective: Expression | Quotient | Unfairness | None = None,
    sharpness: float = 1.0,
    best_loss: float | None = None,
    min_cell: int = 10,
    small_cells: str = "raise",
    undefined: str = "raise",
    owner: str = "bind",
) -> Binding:
    """Bind constraints to the rows of a table.

    Parameters
    ----------
    constraints : Constraint or sequence of them
    table : Table
    loss : Pointwise or str
        The loss that is minimised, and that rates of kind ``"loss"`` mean by default.
    objective : expression of rates, ratio of them or unfairness(), optional
        What to minimise instead of the mean loss.
    sharpness : float
        Rates of predictions are smoothed by ``sigmoid(sharpness * score)``.
    best_loss : float, optional
        For `loss_budget`.
    min_cell : int
        Intersections of sensitive columns with fewer rows are small.
    small_cells : {"raise", "skip", "pool"}
        Whether small intersections are an error; or are left unconstrained and listed in ``skipped``; or
        are taken as one group, "other (pooled)", and listed in ``pooled``. The bound then holds for the
        rates of all their rows together, not for each of them.
    undefined : {"raise", "skip"}
        Whether rules that speak of groups or classes without rows are an error; or are left out and
        listed in ``undefined``, also where these have fewer than `min_cell` rows.
    owner : str
        Whom messages about these arguments name.
    """
    owner = _check.text("bind_table", "owner", owner)
    _check.kind(owner, "table", table, Table)
    sharpness = _check.positive(owner, "sharpness", sharpness)
    _check.choice(owner, "undefined", undefined, ("raise", "skip"))
    rules = listed(owner, constraints)
    left_out: list[tuple[str, str]] | None = None if undefined == "raise" else []
    least = 0 if undefined == "raise" else min_cell
    limits = {"best_loss": best_loss, "min_cell": min_cell, "small_cells": small_cells}
    sample = Sample(table, owner=owner, **limits)  # type: ignore[arg-type]
    made = (defined(partial(rule.expand, sample), left_out) for rule in rules)
    expanded = [row for rows in made for row in rows or ()]
    rates = RateTable(sample, loss_of(owner, loss), Sigmoid(sharpness))
    minimised = _Objective.of(owner, objective, sample, rates)
    written = (
        (row, defined(partial(_function, row, rates, least), left_out, row.name))
        for row in expanded
        if row.function is None
    )
    kept = [(row, line) for row, line in written if line is not None]
    rated = [row for row, _ in kept]
    calls = [row for row in expanded if row.function is not None]
    inequalities = _unique(rated + calls)  # callables last, as their sums come last
    lines = [minimised.line, *(line for _, line in kept)]
    below = [rates.line(row.kind, _below(row)) for row in rated]
    coefficients, offsets = rates.matrix(lines)
    functions = [_function_spec(row) for row in inequalities[len(rated) :]]
    if functions:
        own = sparse.eye_array(len(functions))
        coefficients = sparse.block_diag((coefficients, own), format="csr")
        offsets = np.r_[offsets, np.zeros(len(functions))]
    combination = Combination(
        coefficients, offsets, names=[row.name for row in inequalities], bent=minimised.bent(rates)
    )
    ratios = any(row.denominator is not None for row in rated)
    return Binding(
        tuple(inequalities),
        (*rates.specs(), *functions),
        combination,
        rates.infos,
        table,
        sample.skipped,
        rates.matrix(below + [({}, 1.0)] * len(calls)) if ratios else None,
        tuple(left_out or ()),
        sample.pooled,
    )


@dataclass(frozen=True)
class _Objective:
    """What is minimised: a combination of rates, a ratio of two, or squared gaps."""

    line: Line = ({}, 0.0)
    ratio: tuple[Line, ...] = ()
    gaps: tuple[Line, ...] = ()

    @staticmethod
    def of(owner: str, objective: Any, sample: Sample, rates: RateTable) -> _Objective:
        """Return what the user asked for; by default the mean loss."""
        if objective is None:
            objective = Expression(((1.0, Rate("loss", over="objective")),))
        if isinstance(objective, Expression):
            return _Objective(rates.line("objective", objective))
        if isinstance(objective, Quotient):
            parts = objective.numerator, objective.denominator
            return _Objective(ratio=tuple(rates.line("objective", part) for part in parts))
        if not isinstance(objective, Unfairness):
            rule = "must be a combination of rates or unfairness()"
            _check.fail(owner, "objective", rule, objective)
        return _Objective(
            gaps=tuple(rates.line("unfairness", gap) for gap in objective.gaps(sample))
        )

    def bent(self, rates: RateTable) -> list[tuple[int, Functional]]:
        """Return what it adds to the linear part, once all rates are known."""
        if self.gaps:
            return [(0, SquaredGaps(*rates.matrix(list(self.gaps))))]
        if self.ratio:
            C, c = rates.matrix(list(self.ratio))
            above, below = C.toarray()
            return [(0, Ratio((above, c[0]), (below, c[1])))]
        return []


def _function(row: Inequality, rates: RateTable, least: int) -> Line:
    """Return the function of an inequality, at most 0 where it holds; of rates over `least` rows each."""
    assert row.expression is not None
    left = row.expression - row.bound * _below(row)
    coefficients, constant = rates.line(row.kind, left)
    rates.require(row.kind, coefficients, least)
    sign = row.factor if row.sense == "<=" else -row.factor
    return {entry: sign * c for entry, c in coefficients.items()}, sign * constant


def _below(row: Inequality) -> Expression:
    """Return what an expression is divided by: 1, unless it is part of a ratio."""
    return Expression((), 1.0) if row.denominator is None else row.denominator


def _function_spec(row: Inequality) -> FunctionSpec:
    assert row.function is not None
    return FunctionSpec(row.function, row.name, row.smooth)


def _unique(rows: list[Inequality]) -> list[Inequality]:
    """Number the inequalities that would have the same name."""
    seen: dict[str, int] = {}
    named = []
    for row in rows:
        seen[row.name] = count = seen.get(row.name, 0) + 1
        named.append(row if count == 1 else replace(row, name=f"{row.name} ({count})"))
    return named
