"""The rows of an audit: who belongs where, what was predicted, how they were ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.auditing._events import Event
from equipoise.metrics import subset_auc
from equipoise.rows import Cell, MemoryTable, Subgroup

# Weights that differ by less than this share count as equal: they do so by rounding. Chosen.
EQUAL_WEIGHTS = 1e-9


@dataclass(frozen=True, eq=False)
class AuditedRows:
    """Labels, groups, predictions and scores of the rows.

    Attributes
    ----------
    table : MemoryTable
    predicted : boolean array of shape (n,), or None
    scores : array of shape (n,), or None
    owner : str
        Whom messages name.
    """

    table: MemoryTable
    predicted: np.ndarray | None
    scores: np.ndarray | None
    owner: str = "audit"

    @cached_property
    def _masks(self) -> dict[Subgroup, np.ndarray]:
        return {}

    def members(self, subgroup: Subgroup) -> np.ndarray:
        """Return which rows belong to a subgroup; rows of weight 0 belong to none."""
        if subgroup not in self._masks:
            table = self.table
            inside = np.ones(table.n_rows, dtype=bool) if table.weight is None else table.weight > 0
            if subgroup.cell is not None:
                cells = [self._of_cell(cell) for cell in subgroup.cell.parts]
                inside = inside & np.logical_or.reduce(cells)
            if subgroup.positives is not None:
                inside = inside & (table.positive == subgroup.positives)
            self._check_weights(subgroup, inside)
            self._masks[subgroup] = inside
        return self._masks[subgroup]

    def _of_cell(self, cell: Cell) -> np.ndarray:
        """Return which rows belong to a cell that is not pooled."""
        names, values = zip(*cell.values)
        groups: Any = self.table.groups
        single = len(names) == 1
        column = groups.columns[names[0]] if single else groups.crossed(names)
        code = column.find(values[0] if single else values)
        return column.codes == (-1 if code is None else code)

    def _check_weights(self, subgroup: Subgroup, inside: np.ndarray) -> None:
        """Raise unless all rows of a subgroup weigh the same: then weights change none of its rates."""
        if self.table.weight is None or not inside.any():
            return
        weight = self.table.weight[inside]
        if np.ptp(weight) > EQUAL_WEIGHTS * weight.max():
            where = "all rows" if subgroup.cell is None else f"group {subgroup.cell}"
            reason = (
                f"`sample_weight` differs within {where} (from {weight.min():.3g} to {weight.max():.3g}). "
                "Limits that hold in finite samples are known only where the rows of a rate weigh the "
                "same; leave the weights out, or audit groups of rows with the same weight."
            )
            raise _check.InputError(self.owner, reason, "sample_weight")

    def answers(self, events: Sequence[Event]) -> np.ndarray:
        """Return what the rows among which they are say to events, (rows, events)."""
        rows = np.flatnonzero(self.members(events[0].among))
        if self.predicted is None:
            reason = "`predictions` must hold labels for rules that count predictions."
            raise _check.InputError(self.owner, reason, "predictions")
        positive, predicted = self.table.positive[rows], self.predicted[rows]
        found = np.empty((rows.size, len(events)), dtype=bool)
        for i, event in enumerate(events):
            said = event.says(positive, predicted, self._reference(event, rows))
            found[:, i] = said & self.members(event.inside)[rows]
        return found

    def _reference(self, event: Event, rows: np.ndarray) -> np.ndarray | None:
        if event.reference is None:
            return None
        given = self.table.own(event.reference.predictions)
        if len(given) != self.table.n_rows:
            reason = (
                f"`constraints` holds a churn rule with {len(given)} reference predictions; the rows "
                f"audited are {self.table.n_rows}. Give the other model's predictions for these rows."
            )
            raise _check.InputError(self.owner, reason, "constraints")
        return given[rows] == self.table.classes[1]

    def auc(self, above: np.ndarray, below: np.ndarray) -> float:
        """Return the share of pairs of two sets of rows in the right order; NaN without pairs."""
        if self.scores is None:
            reason = "`scores` must hold numbers for rules on AUCs."
            raise _check.InputError(self.owner, reason, "scores")
        if not above.any() or not below.any():
            return np.nan
        return subset_auc(self.scores, above, below)
