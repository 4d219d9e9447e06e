"""Binding: constraints as data meet a sample, and become terms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from equipoise import _check
from equipoise.constraints.constraint import Constraint, Row
from equipoise.constraints.custom import Custom
from equipoise.constraints.expression import Expression
from equipoise.constraints.groups import Groups
from equipoise.constraints.objective import Unfairness
from equipoise.constraints.rate import Rate
from equipoise.constraints.rate_table import Line, RateInfo, RateTable
from equipoise.constraints.sample import Sample
from equipoise.terms.callable import CallableTerms
from equipoise.terms.losses import loss_of
from equipoise.terms.pointwise import Pointwise
from equipoise.terms.rates import RateTerms
from equipoise.terms.sigmoid import Sigmoid
from equipoise.terms.stacked import StackedTerms
from equipoise.terms.terms import Terms


@dataclass(frozen=True)
class Binding:
    """Constraints bound to a sample.

    Attributes
    ----------
    rows : tuple of Row
        What each constraint function is and where it comes from, in the order of the functions.
    terms : Terms
        Objective and constraints as functions of the scores.
    rates : tuple of RateInfo
        The rates the functions are made of, in the order of ``rate_terms.rates(scores)``.
    rate_terms : RateTerms
        The part of `terms` made of rates; `terms` itself if no constraint is a callable.
    groups : Groups or None
        The sensitive columns.
    skipped : tuple of str
        Small intersections left without constraint.
    """

    rows: tuple[Row, ...]
    terms: Terms
    rates: tuple[RateInfo, ...]
    rate_terms: RateTerms
    groups: Groups | None
    skipped: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the constraint functions."""
        return tuple(row.name for row in self.rows)


def bind(
    constraints: Constraint | Iterable[Constraint],
    y: Any,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    *,
    loss: Pointwise | str = "logistic",
    objective: Expression | Unfairness | None = None,
    objective_weight: Any = None,
    sharpness: float = 1.0,
    best_loss: float | None = None,
    classes: Any = None,
    min_cell: int = 10,
    small_cells: str = "raise",
) -> Binding:
    """Bind constraints to labels, groups and weights.

    Parameters
    ----------
    constraints : Constraint or sequence of them
    y : array of shape (n,)
        Labels of two classes.
    sensitive_features : array, Series, DataFrame or dict of columns, optional
        The groups; one column or several.
    sample_weight : array of shape (n,), optional
        Rows of weight 0 count for no rate.
    loss : Pointwise or str
        The loss that is minimised, and that rates of kind ``"loss"`` mean by default.
    objective : Expression or Unfairness, optional
        What to minimise instead of the mean loss.
    objective_weight : array of shape (n,), optional
        Weights of the objective and of `loss_budget`, if others than of the constraints: class
        weights, or a constraint on other rows than the loss (P000, P004).
    sharpness : float
        Rates of predictions are smoothed by ``sigmoid(sharpness * score)``.
    best_loss : float, optional
        For `loss_budget`.
    classes : pair of labels, optional
        The negative and the positive class, if `y` may lack one or is not to be sorted.
    min_cell : int
        Intersections of sensitive columns with fewer rows are small.
    small_cells : {"raise", "skip"}
        Whether small intersections are an error, or are left unconstrained and listed in
        ``skipped``.

    Returns
    -------
    Binding
    """
    listed = _listed(constraints)
    sample = Sample(
        y,
        sensitive_features,
        sample_weight=sample_weight,
        objective_weight=objective_weight,
        classes=classes,
        best_loss=best_loss,
        min_cell=min_cell,
        small_cells=small_cells,
    )
    rows = [row for constraint in listed for row in constraint.expand(sample)]
    rated = [row for row in rows if row.function is None]
    calls = [row for row in rows if row.function is not None]
    rows = _unique(rated + calls)  # callables last, as in the stacked terms
    table = RateTable(sample, loss_of("bind", loss), Sigmoid(sharpness))
    first, squares = _objective(objective, sample)
    lines = [table.line("objective", first)]
    for row in rated:
        lines.append(_signed(row, table.line(row.kind, row.expression)))  # type: ignore[arg-type]
    gaps = [table.line("unfairness", gap) for gap in squares]
    channels, infos = table.channels()
    coefficients, offsets = table.matrix(lines)
    rate_terms = RateTerms(
        channels,
        coefficients,
        offsets,
        names=[row.name for row in rows[: len(rated)]],
        squares=table.matrix(gaps) if gaps else None,
    )
    terms: Terms = rate_terms
    if calls:
        terms = StackedTerms([rate_terms, *_callables(rows[len(rated) :], sample)])
    return Binding(tuple(rows), terms, infos, rate_terms, sample.groups, sample.skipped)


def _listed(constraints: Any) -> list[Constraint]:
    listed = [constraints] if isinstance(constraints, Constraint) else constraints
    if isinstance(listed, Expression) or not isinstance(listed, Iterable):
        _check.fail("bind", "constraints", "must be constraints; compare a rate first", listed)
    listed = [listed] if isinstance(listed, str) else list(listed)
    for constraint in listed:
        if not isinstance(constraint, Constraint):
            rule = "must hold constraints, such as demographic_parity(0.02)"
            _check.fail("bind", "constraints", rule, constraint)
    return listed


def _objective(objective: Any, sample: Sample) -> tuple[Expression, list[Expression]]:
    """Return the linear part of the objective, and the gaps whose squares it adds."""
    if objective is None:
        return Expression(((1.0, Rate("loss", over="objective")),)), []
    if isinstance(objective, Unfairness):
        return Expression(()), objective.gaps(sample)
    if not isinstance(objective, Expression):
        rule = "must be a combination of rates or unfairness()"
        _check.fail("bind", "objective", rule, objective)
    return objective, []


def _signed(row: Row, line: Line) -> Line:
    """Return the function of a row: at most 0 where the row holds."""
    sign = row.factor if row.sense == "<=" else -row.factor
    coefficients, constant = line
    return {entry: sign * c for entry, c in coefficients.items()}, sign * (constant - row.bound)


def _callables(rows: list[Row], sample: Sample) -> list[CallableTerms]:
    groups: Any = None
    if sample.groups is not None:
        arrays = sample.groups.arrays
        groups = next(iter(arrays.values())) if len(arrays) == 1 else arrays
    return [
        CallableTerms(
            row.function,  # type: ignore[arg-type]
            sample.y,
            groups,
            name=row.name,
            smooth=isinstance(row.source, Custom) and row.source.smooth,
        )
        for row in rows
    ]


def _unique(rows: list[Row]) -> list[Row]:
    """Number the rows that would have the same name."""
    seen: dict[str, int] = {}
    named = []
    for row in rows:
        seen[row.name] = count = seen.get(row.name, 0) + 1
        named.append(row if count == 1 else replace(row, name=f"{row.name} ({count})"))
    return named
