"""Sums over training rows in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise.models import LinearUnits, linear_model
from equipoise.rows._atoms import atoms_of
from equipoise.rows._columns import column_moments, squared_distances
from equipoise.rows._cross_table import CrossTable
from equipoise.rows._entries import PairEntry, RateEntry, Subgroup, SumSpec, Tally
from equipoise.rows._group_column import Cell, row_numbers
from equipoise.rows._group_input import NAMES_LISTED
from equipoise.rows._memory_rows import MemoryRows
from equipoise.rows._memory_sums import MemorySums
from equipoise.rows._table import ColumnMoments
from equipoise.terms import (
    JoinedSums,
    PairFunction,
    PairSums,
    Pointwise,
    Rates,
    RowWeights,
    ScoreSum,
)


@final
class MemoryTable(MemoryRows):
    """Training rows in memory.

    Parameters
    ----------
    y : array of shape (n,)
        Labels.
    X : array or CSR matrix of shape (n, d), optional
        The features; without them nothing can be fitted, but constraints can be bound.
    groups : Groups or sensitive columns, optional
    weight, objective_weight : array of shape (n,), optional
        The weights of the rows in rates, and in the objective (by default the same).
    classes : sequence of labels, optional
        By default the sorted values of `y`.
    owner : str
        Whom messages about the input name.
    """

    def crossed(self, column: str | tuple[str, ...] | None = None) -> CrossTable:
        """Return the rows by label, and by the groups of a sensitive column, or of several crossed."""
        if column not in self._crossed:
            codes, count = None, 1
            if column is not None and self.groups is not None:
                groups: Any = self.groups.named(column)  # in memory
                codes, count = groups.codes, len(groups.values)
            self._crossed[column] = CrossTable.of(self.positive, self.weight, codes, count)
        return self._crossed[column]

    def tallies(self, entries: Sequence[RateEntry]) -> list[Tally]:
        """Return what the subgroups of these rates hold."""
        return [self._tally(entry) for entry in entries]

    def _tally(self, entry: RateEntry) -> Tally:
        rows, true = self._rows_of(entry.subgroup), 0.0
        if self._weight(entry.subgroup.over) is None:
            if entry.base in ("error", "churn"):
                true = float(np.count_nonzero(self.truth_of(entry)[rows]))
            return Tally(len(rows), float(len(rows)), float(len(rows)), true)
        weight = self.weights(entry.subgroup.over)[rows]
        if entry.base in ("error", "churn"):
            true = float(weight[self.truth_of(entry)[rows]].sum())
        return Tally(len(rows), float(weight.sum()), float((weight**2).sum()), true)

    def _rows_of(self, subgroup: Subgroup) -> np.ndarray:
        """Return the rows of a subgroup that have a weight, in their order."""
        if subgroup not in self._members:
            weight = self._weight(subgroup.over)
            if subgroup.cell is None:
                every = np.arange(self.n_rows) if weight is None else np.flatnonzero(weight > 0)
                rows = row_numbers(every)
            else:
                parts = [self._members_of(cell) for cell in subgroup.cell.parts]
                rows = parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))
                rows = rows if weight is None else rows[weight[rows] > 0]
            if subgroup.positives is not None:
                rows = rows[self.positive[rows] == subgroup.positives]
            self._members[subgroup] = rows
        return self._members[subgroup]

    def _members_of(self, cell: Cell) -> np.ndarray:
        """Return the rows of a cell that is not pooled, in their order."""
        names, values = zip(*cell.values)
        assert self.groups is not None
        single = len(names) == 1
        column = self.groups.columns[names[0]] if single else self.groups.crossed(names)
        code = column.find(values[0] if single else values)
        return column.members(code) if code is not None else np.empty(0, np.int32)

    def truth_of(self, entry: RateEntry) -> np.ndarray:
        """Return which rows are positive by their label, or by the reference predictions."""
        if entry.base == "error":
            return self.positive
        assert entry.reference is not None
        given = self.own(entry.reference.predictions)
        if len(given) != self.n_rows:
            reason = (
                f"`reference` must have one prediction for each of the {self.n_rows} training "
                f"rows, got {len(given)}. Predict on the rows you fit on."
            )
            raise _check.InputError("churn", reason, "reference")
        unknown = set(np.unique(given).tolist()) - set(self.classes)
        if unknown:
            rule = f"must hold labels of the classes {self.classes}"
            _check.fail("churn", "reference", rule, sorted(unknown, key=str)[:NAMES_LISTED])
        truth = given == self.classes[1]
        return truth if self.order is None else truth[self.order]

    def rates(self, function: Pointwise, entries: Sequence[RateEntry]) -> Rates:
        """Return rates of one pointwise function of scores, or of margins: this table's part of each."""
        sign = None
        if any(entry.of_margin for entry in entries):
            sign = np.where(self.positive, 1, -1).astype(np.int8)
        origin = tuple(
            (entry.base, entry.subgroup, entry.reference, entry.total) for entry in entries
        )
        if origin not in self._known:
            self._known[origin] = RowWeights(self._shares(entries))
            self._known[origin].origin = origin
        return Rates(function, self._known[origin], sign)

    def _shares(self, entries: Sequence[RateEntry]) -> sparse.csc_array:
        """Return what every row adds to each rate, (n, R)."""
        rows, values = [np.empty(0, np.int32)], [np.empty(0)]
        for entry in entries:
            index = self._rows_of(entry.subgroup)
            share = self.weights(entry.subgroup.over)[index] / entry.total
            if entry.base in ("error", "churn"):  # P(wrong) = P(truth) + sum (1 - 2 truth) sigma
                share = np.where(self.truth_of(entry)[index], -share, share)
            rows.append(index)
            values.append(share)
        ends = np.cumsum([len(part) for part in rows])
        index_type = sparse.get_index_dtype(maxval=max(int(ends[-1]), self.n_rows))
        columns = np.concatenate(rows).astype(index_type, copy=False), ends.astype(index_type)
        shape = (self.n_rows, len(entries))
        return sparse.csc_array((np.concatenate(values), *columns), shape=shape)

    def pairs(self, function: PairFunction, entries: Sequence[PairEntry]) -> PairSums:
        """Return means over pairs of rows, of one function of score differences."""
        sides = [side for entry in entries for side in (entry.above, entry.below)]
        subgroups = list(dict.fromkeys(sides))
        atoms, inside = atoms_of(self.n_rows, [self._rows_of(own) for own in subgroups])
        totals = np.array([total for entry in entries for total in entry.totals])
        shares = inside[:, [subgroups.index(side) for side in sides]] / totals
        return PairSums(function, atoms, self.weights(), shares[:, ::2], shares[:, 1::2])

    def labelled(self) -> MemoryTable:
        """Return the table itself."""
        return self

    def score_sums(self, specs: Sequence[SumSpec], known: ScoreSum | None = None) -> ScoreSum:
        """Return sums over the rows as functions of the scores; `known` ones lend their weights."""
        lent = [] if known is None else [rates.weights for rates in known.rates]
        self._known = {weights.origin: weights for weights in lent if weights.origin is not None}
        made = [spec.on(self) for spec in specs]
        self._members, self._known = {}, {}  # as large as the rows: let go of them
        return made[0] if len(made) == 1 else JoinedSums(made)

    def row_sums(self, units: LinearUnits, specs: Sequence[SumSpec]) -> MemorySums:
        """Return sums over the rows as functions of the parameters of a linear model."""
        return MemorySums(linear_model(self.X, units), self.score_sums(specs), self)

    def moments(self) -> ColumnMoments:
        """Return weighted sums over the columns: entries, squares, those that are not 0."""
        return ColumnMoments(*column_moments(self.X, self.weights()))

    def variances(self, center: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return weighted sums of squared distances from the centre, for some columns."""
        return squared_distances(self.X, self.weights(), center, columns)

    def heaviest_row(self) -> tuple[float, np.ndarray] | None:
        """Return the largest weight and the features of a row that has it; None for sparse data."""
        if self.is_sparse:
            return None
        weight = self.weights()
        row = int(np.argmax(weight))
        return float(weight[row]), np.asarray(self.X[row], dtype=np.float64)
