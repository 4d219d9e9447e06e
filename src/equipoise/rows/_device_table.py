"""Training rows that are a tensor, on whatever device it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise._array import Array, is_tensor, like, namespace, to_numpy
from equipoise.models import LinearUnits, linear_model
from equipoise.rows._columns import tensor_distances, tensor_moments
from equipoise.rows._cross_table import CrossTable
from equipoise.rows._device_groups import DeviceGroups
from equipoise.rows._digest import checksum, digest
from equipoise.rows._entries import RateEntry, Subgroup, SumSpec, Tally
from equipoise.rows._memory_rows import FINGERPRINTED, labels_of
from equipoise.rows._memory_sums import MemorySums
from equipoise.rows._memory_table import MemoryTable
from equipoise.rows._table import ColumnMoments, Table
from equipoise.terms import DeviceWeights, JoinedSums, Pointwise, Rates, ScoreSum


@final
class DeviceTable(Table):
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

    def __init__(
        self,
        y: Any,
        X: Array,
        groups: Any = None,
        *,
        weight: Any = None,
        classes: Any = None,
        owner: str = "DeviceTable",
    ) -> None:
        owner = _check.text("DeviceTable", "owner", owner)
        if not is_tensor(X) or X.ndim != 2:
            _check.fail(owner, "X", "must be a tensor of shape (n, d)", X)
        self.X, self._xp = X, namespace(X)
        self.n_rows, self.n_columns = (int(size) for size in X.shape)
        self.is_sparse, self.order = False, None
        self.dtype = np.dtype(str(X.dtype).rpartition(".")[2])
        labels, self.positive = _labels(owner, y, X, classes)
        self.labels = labels
        self.weight = None if weight is None else _weight(owner, weight, X)
        self.weighted = weight is not None
        self._objective = self.weight
        self._groups = None if groups is None else DeviceGroups(groups, X, owner)
        self.groups = self._groups
        self._crossed: dict[Any, CrossTable] = {}

    @cached_property
    def y(self) -> np.ndarray:
        """The labels, brought to the host."""
        return self.labels[to_numpy(self.positive).astype(np.intp)]

    def ordered(self) -> DeviceTable:
        """Return the table as it is: a copy of the rows in another order would be as large as they are."""
        return self

    def weights(self, over: str = "sample") -> Array:
        """Return the weight of every row, in rates or in the objective."""
        weight = self._weight(over)
        if weight is not None:
            return weight
        return self._xp.ones(self.n_rows, dtype=self._xp.float64, device=self.X.device)

    def _weight(self, over: str) -> Array | None:
        return self.weight if over == "sample" else self._objective

    def total(self, over: str = "sample") -> float:
        """Return the weight of all rows."""
        weight = self._weight(over)
        return float(self.n_rows if weight is None else weight.sum())

    def class_counts(self) -> np.ndarray:
        """Return the number of rows of every class."""
        positive = int(self.positive.sum())
        return np.array([self.n_rows - positive, positive])

    def class_totals(self) -> np.ndarray:
        """Return the weight of the rows of every class."""
        if self.weight is None:
            return self.class_counts().astype(np.float64)
        positive = float(self.weight[self.positive].sum())
        return np.array([float(self.weight.sum()) - positive, positive])

    def class_weighted(self, weights: Mapping[Any, float]) -> DeviceTable:
        """Return the table with the objective's weights multiplied by a weight for each class."""
        factors = [float(weights.get(label, 1.0)) for label in self.classes]
        factor = self._xp.where(self.positive, *like(factors[::-1], self.weights()))
        changed = copy(self)
        changed._objective = factor if self.weight is None else factor * self.weight
        return changed

    def crossed(self, column: str | tuple[str, ...] | None = None) -> CrossTable:
        """Return the rows by label, and by the groups of a sensitive column, or of several crossed."""
        if column not in self._crossed:
            codes, count = None, 1
            if column is not None and self._groups is not None:
                codes, count = self._groups.codes(column), len(self._groups.named(column).values)
            self._crossed[column] = CrossTable.of(self.positive, self.weight, codes, count)
        return self._crossed[column]

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
        return MemoryTable(
            self.y, None, groups, weight=weight, objective_weight=own, classes=self.labels
        )

    def labelled(self) -> MemoryTable:
        """Return labels, weights and groups, brought to the host."""
        return self._labelled

    def score_sums(self, specs: Sequence[SumSpec]) -> ScoreSum:
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

    def digest(self) -> str:
        """Return a short text that differs where the rows do."""
        arrays = None if self.groups is None else dict(self.groups.arrays)
        return digest(to_numpy(self.X), self.y, arrays, self.labelled().weight)

    def fingerprint(self) -> str:
        """Return a short text that tells which rows these are: labels, groups, weights, some features."""
        some = to_numpy(self.X[:: -(-self.n_rows // FINGERPRINTED)]).astype(self.dtype)
        weight = None if self.weight is None else checksum(to_numpy(self.weight))
        codes = checksum(to_numpy(self.positive).astype(np.int32))
        groups = []
        if self._groups is not None:
            for name, column in self._groups.columns.items():
                groups.append([name, column.values, checksum(self._groups.host_codes(name))])
        return digest([checksum(some), weight], [self.classes, codes], groups)


def _labels(owner: str, y: Any, X: Array, classes: Any) -> tuple[np.ndarray, Array]:
    """Return the two classes, the positive one last, and which rows are of it."""
    n = int(X.shape[0])
    if is_tensor(y):
        if y.ndim != 1 or y.shape[0] != n:
            _check.fail(owner, "y", f"must have one label for each of the {n} rows", tuple(y.shape))
        found = np.asarray(namespace(y).unique_values(y).tolist())
        found.sort()
    else:
        y = _check.labels(owner, "y", y)
        if y.size != n:
            _check.fail(owner, "y", f"must have one label for each of the {n} rows", y.shape)
        found = np.unique(y)
    labels = labels_of(owner, found, classes)
    if labels.size != 2:
        _check.fail(owner, "y", "must hold labels of two classes", found.tolist())
    positive = y == labels.tolist()[1]
    return labels, namespace(X).asarray(positive, device=X.device)


def _weight(owner: str, weight: Any, X: Array) -> Array:
    """Return the weights in double precision, beside the rows."""
    xp, n = namespace(X), int(X.shape[0])
    if not is_tensor(weight):
        weight = xp.asarray(_check.vector(owner, "sample_weight", weight, n))
    weight = xp.astype(xp.asarray(weight, device=X.device), xp.float64)
    if tuple(weight.shape) != (n,) or not bool(xp.isfinite(weight.sum())):
        rule = f"must be {n} finite numbers"
        _check.fail(owner, "sample_weight", rule, tuple(weight.shape))
    if bool((weight < 0).any()) or not bool((weight > 0).any()):
        rule = "must be non-negative and not all 0"
        _check.fail(owner, "sample_weight", rule, float(weight.min()))
    return weight
