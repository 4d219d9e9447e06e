"""Sums over training rows that are a tensor, on its device."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import final

import numpy as np

from equipoise._array import Array, to_numpy
from equipoise.models import LinearUnits, linear_model
from equipoise.rows._columns import tensor_distances, tensor_moments
from equipoise.rows._device_rows import DeviceRows
from equipoise.rows._entries import RateEntry, Subgroup, SumSpec, Tally
from equipoise.rows._memory_sums import MemorySums
from equipoise.rows._memory_table import MemoryTable
from equipoise.rows._table import ColumnMoments
from equipoise.terms import DeviceWeights, JoinedSums, Pointwise, Rates, ScoreSum


@final
class DeviceTable(DeviceRows):
    """Training rows of two classes that are a tensor: all sums over them are computed on its device.

    What leaves the device are sums, a few rows for estimates of curvature, and the scores where a function
    of yours needs all of them. Of rules on pairs, labels and groups are brought to the host once, when they
    are bound.

    Parameters
    ----------
    y : tensor or array of shape (n,)
        Labels.
    X : tensor of shape (n, d)
        The features.
    groups : tensor, array, data frame or dict of columns, optional
    weight : tensor or array of shape (n,), optional
    classes : sequence of labels, optional
        By default the sorted values of `y`.
    owner : str
        Whom messages about the input name.
    """

    def tallies(self, entries: Sequence[RateEntry]) -> list[Tally]:
        """Return what the subgroups of these rates hold."""
        return [self._tally(entry) for entry in entries]

    def _tally(self, entry: RateEntry) -> Tally:
        inside = self._members(entry.subgroup)
        weight = self._weight(entry.subgroup.over)
        rows = int(inside.sum())
        turned = self._truth(entry) if entry.base in ("error", "churn") else None
        if weight is None:
            true = 0.0 if turned is None else float((turned & inside).sum())
            return Tally(rows, float(rows), float(rows), true)
        own = weight * inside
        true = 0.0 if turned is None else float((own * turned).sum())
        return Tally(rows, float(own.sum()), float((own * weight).sum()), true)

    def _members(self, subgroup: Subgroup) -> Array:
        """Return which rows belong to a subgroup and have a weight."""
        weight = self._weight(subgroup.over)
        inside = self._xp.ones_like(self.positive) if weight is None else weight > 0
        if subgroup.cell is not None:
            assert self._groups is not None
            inside = inside & self._groups.belongs(subgroup.cell)
        if subgroup.positives is not None:
            inside = inside & (self.positive == subgroup.positives)
        return inside

    def _truth(self, entry: RateEntry) -> Array:
        """Return which rows are positive by their label, or by the reference predictions."""
        if entry.base == "error":
            return self.positive
        return self._xp.asarray(self.labelled().truth_of(entry), device=self.X.device)

    def rates(self, function: Pointwise, entries: Sequence[RateEntry]) -> Rates:
        """Return rates of one pointwise function of scores, or of margins."""
        parts = []
        for entry in entries:
            own = self._members(entry.subgroup)
            weight = self._weight(entry.subgroup.over)
            own = self._xp.astype(own, self.X.dtype) if weight is None else weight * own
            if entry.base in ("error", "churn"):  # P(wrong) = P(truth) + sum (1 - 2 truth) sigma
                own = self._xp.where(self._truth(entry), -own, own)
            parts.append(own)
        dtype = self.X.dtype if all(p.dtype == self.X.dtype for p in parts) else self._xp.float64
        if parts:
            stacked = self._xp.stack([self._xp.astype(part, dtype) for part in parts])
        else:
            stacked = self._xp.zeros((0, self.n_rows), dtype=dtype, device=self.X.device)
        sign = None
        if any(entry.of_margin for entry in entries):
            sign = 2 * self._xp.astype(self.positive, self._xp.int8) - 1
        return Rates(function, DeviceWeights(stacked, [entry.total for entry in entries]), sign)

    @cached_property
    def _labelled(self) -> MemoryTable:
        weight, objective = (
            None if w is None else to_numpy(w) for w in (self.weight, self._objective)
        )
        groups = None if self.groups is None else dict(self.groups.arrays)
        own = None if self._objective is self.weight else objective
        table = MemoryTable(
            self.y, None, groups, weight=weight, objective_weight=own, classes=self.labels
        )
        return table if self._whole is None else table.as_part(*self._whole)

    def labelled(self) -> MemoryTable:
        """Return labels, weights and groups, brought to the host."""
        return self._labelled

    def score_sums(self, specs: Sequence[SumSpec], known: ScoreSum | None = None) -> ScoreSum:
        """Return sums over the rows as functions of the scores."""
        made = [spec.on(self) for spec in specs]
        return made[0] if len(made) == 1 else JoinedSums(made)

    def row_sums(self, units: LinearUnits, specs: Sequence[SumSpec]) -> MemorySums:
        """Return sums over the rows as functions of the parameters of a linear model."""
        return MemorySums(linear_model(self.X, units), self.score_sums(specs), self)

    def moments(self) -> ColumnMoments:
        """Return weighted sums over the columns: entries, squares, those that are not 0."""
        return ColumnMoments(*tensor_moments(self.X, self.weight))

    def variances(self, center: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return weighted sums of squared distances from the centre, for some columns."""
        return tensor_distances(self.X, self.weight, center, columns)

    def heaviest_row(self) -> tuple[float, np.ndarray] | None:
        """Return the largest weight and the features of a row that has it."""
        row = 0 if self.weight is None else int(self.weight.argmax())
        return 1.0 if self.weight is None else float(self.weight[row]), to_numpy(self.X[row])
