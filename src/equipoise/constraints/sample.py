"""Sample: labels, weights and groups that constraints are bound to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.constraints.group_input import PARAMETER, SHOWN
from equipoise.constraints.groups import GroupColumn, Groups, row_numbers
from equipoise.constraints.rate import KINDS, Cell, Each, Rate

Column = list[tuple[Cell, str]]  # the groups of one sensitive column, with their labels


class Sample:
    """What a constraint needs to know of the data; no features.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of two classes.
    features : the sensitive columns, or None
    sample_weight, objective_weight : array of shape (n,), optional
        The weights of constraint rates, and of the objective (by default the same).
    classes : pair of labels, optional
        The negative and the positive class; by default the sorted values of `y`.
    best_loss : float, optional
        For `loss_budget`.
    min_cell : int
        Intersections with fewer rows are small.
    small_cells : {"raise", "skip"}
    """

    def __init__(
        self,
        y: Any,
        features: Any = None,
        *,
        sample_weight: Any = None,
        objective_weight: Any = None,
        classes: Any = None,
        best_loss: float | None = None,
        min_cell: int = 10,
        small_cells: str = "raise",
    ) -> None:
        owner = "bind"
        self.y = np.asarray(y)
        if self.y.ndim != 1 or self.y.size == 0:
            _check.fail(owner, "y", "must be a vector of labels", self.y.shape)
        self.n = self.y.size
        self.classes = _classes(self.y, classes)
        self.positive = self.y == self.classes[1]
        self.weight = _weights("sample_weight", sample_weight, self.n)
        self.objective_weight = (
            self.weight
            if objective_weight is None
            else _weights("objective_weight", objective_weight, self.n)
        )
        known = features is None or isinstance(features, Groups)
        self.groups = features if known else Groups(features, self.n)
        self.best_loss = (
            None if best_loss is None else _check.non_negative(owner, "best_loss", best_loss)
        )
        self.min_cell = _check.count(owner, "min_cell", min_cell, least=2)
        self.small_cells = _check.choice(owner, "small_cells", small_cells, ("raise", "skip"))
        self.skipped: tuple[str, ...] = ()
        self._crossed: dict[tuple[Any, ...], GroupColumn] = {}

    def columns(self, owner: str, each: Each) -> list[Column]:
        """Return the groups that `each` stands for, column by column."""
        groups = self._groups(owner)
        if each.intersections or isinstance(each.column, tuple):
            names = tuple(groups.columns) if each.intersections else each.column
            chosen = [self._intersection(owner, names)]
        elif each.column is not None:
            chosen = [groups.column(owner, each.column)]
        else:
            chosen = list(groups.columns.values())
        return [list(self._cells(owner, column, each)) for column in chosen]

    def place(self, owner: str, group: Any) -> tuple[tuple[str, ...], int]:
        """Return the column and code of a group, the same however it was written."""
        column, code = self._locate(owner, group)
        return column.columns, code

    def label(self, owner: str, group: Any) -> str:
        """Return how a group is called."""
        column, code = self._locate(owner, group)
        return column.labels[code]

    def rows_of(self, owner: str, rate: Rate) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the rows a rate is over, their weights, and the total weight it is divided by."""
        weight = self.weight if rate.over == "sample" else self.objective_weight
        positives = self.label_of(owner, rate)
        total = float(weight.sum())
        rows, where = row_numbers(np.flatnonzero(weight > 0)), "the sample"
        if rate.group is not None:
            column, code = self._locate(owner, rate.group)
            rows, where = column.members(code), f"group {column.labels[code]!r}"
            rows = rows[weight[rows] > 0]
            if len(rows) < 2:
                raise ValueError(
                    f"{owner}: {where} has {_counted(len(rows))} of positive weight; a rate needs "
                    f"at least 2. Merge it with another group, or leave its rows out."
                )
            total = total if rate.per == "all" else float(weight[rows].sum())
        if positives is not None:
            rows = rows[self.positive[rows] == positives]
            if len(rows) < 2:
                label = self.classes[int(positives)]
                raise ValueError(
                    f"{owner}: {where} has {_counted(len(rows))} with the label {label!r}, so "
                    f"its {str(rate.kind).replace('_', ' ')} rate is not defined. Merge it with "
                    f"another group, or leave it out of the constraint."
                )
        own = float(weight[rows].sum())
        return rows, weight[rows], total if rate.per is not None else own

    def label_of(self, owner: str, rate: Rate) -> bool | None:
        """Return the class a rate is restricted to; None for both."""
        fixed = KINDS[rate.kind].positives
        if fixed is not None or rate.label is None:
            return fixed
        if rate.label not in self.classes:
            _check.fail(owner, "label", f"must be one of the classes {self.classes}", rate.label)
        return bool(rate.label == self.classes[1])

    def predictions(self, owner: str, rate: Rate) -> np.ndarray:
        """Return which rows the reference of a churn rate predicts positive."""
        assert rate.reference is not None
        given = rate.reference.predictions
        if len(given) != self.n:
            raise ValueError(
                f"{owner}: `reference` must have one prediction for each of the {self.n} training "
                f"rows, got {len(given)}. Predict on the rows you fit on."
            )
        unknown = set(np.unique(given).tolist()) - set(self.classes)
        if unknown:
            rule = f"must hold labels of the classes {self.classes}"
            _check.fail(owner, "reference", rule, sorted(unknown, key=str)[:SHOWN])
        return given == self.classes[1]

    def _groups(self, owner: str) -> Groups:
        if self.groups is None:
            raise ValueError(f"{owner}: groups are needed; pass `{PARAMETER}` to fit.")
        return self.groups

    def _cells(self, owner: str, column: GroupColumn, each: Each) -> Iterator[tuple[Cell, str]]:
        wanted = column.values if each.groups is None else each.groups
        for value in wanted:
            code = column.find(value)
            if code is None:
                rule = f"must be groups of column {column.name!r}"
                _check.fail(owner, "groups", rule, value)
            if column.labels[code] in self.skipped:
                continue
            single = (value,) if len(column.columns) == 1 else value
            yield Cell(tuple(zip(column.columns, single))), column.labels[code]

    def _locate(self, owner: str, group: Any) -> tuple[GroupColumn, int]:
        groups = self._groups(owner)
        if not isinstance(group, Cell):
            column = groups.where(owner, group)
            return column, column.find(group)  # type: ignore[return-value]
        names, values = zip(*group.values)
        if len(names) == 1:
            column, value = groups.column(owner, names[0]), values[0]
        else:
            column, value = self._cross(owner, names), values
        code = column.find(value)
        if code is None:
            _check.fail(owner, "group", "must occur in the data", str(group))
        return column, code

    def _cross(self, owner: str, names: tuple[Any, ...]) -> GroupColumn:
        if names not in self._crossed:
            self._crossed[names] = self._groups(owner).intersection(owner, names)
        return self._crossed[names]

    def _intersection(self, owner: str, names: tuple[Any, ...]) -> GroupColumn:
        """Return an intersection; small cells are an error, or are skipped on request."""
        column = self._cross(owner, names)
        small = np.flatnonzero(column.counts < self.min_cell)
        if small.size:
            if self.small_cells == "raise":
                listed = ", ".join(
                    f"{column.labels[c]} ({column.counts[c]})" for c in small[:SHOWN]
                )
                more = f" and {small.size - SHOWN} more" if small.size > SHOWN else ""
                raise ValueError(
                    f"{owner}: {small.size} of {len(column.values)} intersections have fewer than "
                    f"{self.min_cell} rows: {listed}{more}. Merge values, lower `min_cell`, or "
                    f"leave them unconstrained with small_cells='skip'."
                )
            labels = tuple(column.labels[c] for c in small)
            self.skipped = tuple(dict.fromkeys(self.skipped + labels))
        return column


def _classes(y: np.ndarray, classes: Any) -> tuple[Any, Any]:
    found = tuple(np.unique(y).tolist())
    if classes is None:
        if len(found) != 2:
            shown = found if len(found) < SHOWN else f"{len(found)} values"
            _check.fail("bind", "y", "must hold labels of exactly two classes", shown)
        return found
    given = np.asarray(classes).tolist()
    if len(given) != 2 or not set(found) <= set(given):
        _check.fail("bind", "classes", f"must be the two classes of `y`, {found}", given)
    return tuple(given)


def _weights(parameter: str, weight: Any, n: int) -> np.ndarray:
    if weight is None:
        return np.ones(n)
    weight = _check.vector("bind", parameter, weight, n)
    if (weight < 0).any() or not weight.any():
        _check.fail("bind", parameter, "must be non-negative and not all 0", weight.min())
    return weight


def _counted(rows: int) -> str:
    return f"{rows or 'no'} row{'' if rows == 1 else 's'}"
