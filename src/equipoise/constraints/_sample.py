"""Sample: the training rows as constraints see them, and how strictly they are bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.constraints._rate import KINDS, Each, Rate
from equipoise.rows import Cell, GroupColumn, Groups, Table
from equipoise.rows._group_input import NAMES_LISTED, SENSITIVE_FEATURES

SMALL_CELLS = ("raise", "skip", "pool")  # what may become of small intersections
POOLED = "other (pooled)"  # how those that are taken together are called

Column = list[tuple[Cell, str]]  # the groups of one sensitive column, with their labels


class Sample:
    """What a constraint needs to know of the training rows.

    Parameters
    ----------
    table : Table
        Of two classes.
    owner : str
        Whom messages about the arguments of `fit` or `bind` name.
    best_loss : float, optional
        For `loss_budget`.
    min_cell : int
        Intersections with fewer rows are small.
    small_cells : {"raise", "skip", "pool"}
        Small intersections are an error; or are left out; or are taken as one group together, which is
        left out if it is small too.

    Attributes
    ----------
    skipped, pooled : tuples of str
        The intersections that were left out, and those that were taken together.
    """

    def __init__(
        self,
        table: Table,
        *,
        owner: str = "bind",
        best_loss: float | None = None,
        min_cell: int = 10,
        small_cells: str = "raise",
    ) -> None:
        self.table, self.classes = table, table.classes
        if len(self.classes) != 2:
            found = (
                self.classes if len(self.classes) < NAMES_LISTED else f"{len(self.classes)} values"
            )
            _check.fail(owner, "y", "must hold labels of exactly two classes", found)
        self.best_loss = (
            None if best_loss is None else _check.non_negative(owner, "best_loss", best_loss)
        )
        self.min_cell = _check.count(owner, "min_cell", min_cell, least=2)
        self.small_cells = _check.choice(owner, "small_cells", small_cells, SMALL_CELLS)
        self.skipped: tuple[str, ...] = ()
        self.pooled: tuple[str, ...] = ()

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

    def cell(self, owner: str, group: Any) -> Cell:
        """Return a group as its columns and values, the same however it was written."""
        if isinstance(group, Cell) and group.pooled:
            return group
        column, code = self._locate(owner, group)
        value = column.values[code]
        return Cell(tuple(zip(column.columns, value if len(column.columns) > 1 else (value,))))

    def label(self, owner: str, group: Any) -> str:
        """Return how a group is called."""
        if isinstance(group, Cell) and group.pooled:
            return POOLED
        column, code = self._locate(owner, group)
        return column.labels[code]

    def positives(self, owner: str, rate: Rate) -> bool | None:
        """Return the class a rate is restricted to: True for the positive one, None for both."""
        fixed = KINDS[rate.kind].positives
        if fixed is not None or rate.label is None:
            return fixed
        if rate.label not in self.classes:
            _check.fail(owner, "label", f"must be one of the classes {self.classes}", rate.label)
        return bool(rate.label == self.classes[1])

    def _groups(self, owner: str) -> Groups:
        if self.table.groups is None:
            reason = f"groups are needed; pass `{SENSITIVE_FEATURES}`."
            raise _check.InputError(owner, reason, SENSITIVE_FEATURES)
        return self.table.groups

    def _cells(self, owner: str, column: GroupColumn, each: Each) -> Iterator[tuple[Cell, str]]:
        wanted = column.values if each.groups is None else each.groups
        pooled: list[Cell] = []
        for value in wanted:
            code = column.find(value)
            if code is None:
                rule = f"must be groups of column {column.name!r}"
                _check.missing(owner, "groups", rule, value)
            if column.labels[code] in self.skipped:
                continue
            single = (value,) if len(column.columns) == 1 else value
            cell = Cell(tuple(zip(column.columns, single)))
            if column.labels[code] in self.pooled:
                pooled.append(cell)
            else:
                yield cell, column.labels[code]
        if pooled:
            yield Cell(pooled[0].values, tuple(pooled[1:])), POOLED

    def _locate(self, owner: str, group: Any) -> tuple[GroupColumn, int]:
        groups = self._groups(owner)
        if not isinstance(group, Cell):
            column = groups.where(owner, group)
            return column, column.find(group)  # type: ignore[return-value]
        names, values = zip(*group.values)
        if len(names) == 1:
            column, value = groups.column(owner, names[0]), values[0]
        else:
            column, value = groups.intersection(owner, names), values
        code = column.find(value)
        if code is None:
            _check.missing(owner, "group", "must occur in the data", str(group))
        return column, code

    def _intersection(self, owner: str, names: tuple[Any, ...]) -> GroupColumn:
        """Return an intersection; small cells are an error, or are skipped or pooled on request."""
        column = self._groups(owner).intersection(owner, names)
        small = np.flatnonzero(column.counts < self.min_cell)
        if small.size and self.small_cells == "raise":
            listed = ", ".join(
                f"{column.labels[c]} ({column.counts[c]})" for c in small[:NAMES_LISTED]
            )
            more = f" and {small.size - NAMES_LISTED} more" if small.size > NAMES_LISTED else ""
            reason = (
                f"{small.size} of {len(column.values)} intersections have fewer than "
                f"{self.min_cell} rows: {listed}{more}. Merge values, lower `min_cell`, or "
                f"leave them unconstrained with small_cells='skip', or take them as one group with 'pool'."
            )
            raise _check.InputError(owner, reason, SENSITIVE_FEATURES)
        labels = tuple(column.labels[c] for c in small)
        enough = small.size > 1 and column.counts[small].sum() >= self.min_cell
        kept = "pooled" if self.small_cells == "pool" and enough else "skipped"
        setattr(self, kept, tuple(dict.fromkeys(getattr(self, kept) + labels)))
        return column
