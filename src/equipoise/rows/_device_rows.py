"""Training rows that are a tensor, on whatever device it is: what is held of them."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array, is_tensor, like, namespace, on_host, placed, to_numpy
from equipoise.rows._cross_table import CrossTable
from equipoise.rows._device_groups import DeviceGroups
from equipoise.rows._digest import checksum, digest
from equipoise.rows._memory_rows import FINGERPRINTED, labels_of
from equipoise.rows._table import Table


class DeviceRows(Table):
    """What `DeviceTable` holds: features, labels, weights and groups, and what is counted of labels alone."""

    divisible = True

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
        self._whole: tuple[np.ndarray, int] | None = None  # of a part: its rows, of how many

    @cached_property
    def y(self) -> np.ndarray:
        """The labels, brought to the host."""
        return self.labels[to_numpy(self.positive).astype(np.intp)]

    def ordered(self) -> Self:
        """Return the table as it is: a copy of the rows in another order would be as large as they are."""
        return self

    def part(self, rows: Array) -> Self:
        """Return some of the rows, with the same classes."""
        index = placed(rows, self.X)
        made = self._copied()
        made.X, made.positive, made.n_rows = self.X[index], self.positive[index], len(rows)
        made.weight = None if self.weight is None else self.weight[index]
        made._objective = made.weight
        if self._objective is not self.weight and self._objective is not None:
            made._objective = self._objective[index]
        made._groups = made.groups = None if self._groups is None else self._groups.taken(index)
        given, size = self._whole or (np.arange(self.n_rows), self.n_rows)
        made._crossed, made._whole = {}, (given[on_host(rows)], size)
        return made

    def _copied(self) -> Self:
        """Return a copy that has found nothing out about its rows yet."""
        made = copy(self)
        for name in ("y", "_labelled"):
            vars(made).pop(name, None)
        return made

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

    def class_weighted(self, weights: Mapping[Any, float]) -> Self:
        """Return the table with the objective's weights multiplied by a weight for each class."""
        factors = [float(weights.get(label, 1.0)) for label in self.classes]
        factor = self._xp.where(self.positive, *like(factors[::-1], self.weights()))
        changed = self._copied()
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

    def digest(self) -> str:
        """Return a short text that differs where the rows do."""
        arrays = None if self.groups is None else dict(self.groups.arrays)
        return digest(
            to_numpy(self.X), self.y, arrays, None if self.weight is None else to_numpy(self.weight)
        )

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
        weight = xp.asarray(_check.vector(owner, "sample_weight", weight, n), device=X.device)
    weight = xp.astype(xp.asarray(weight, device=X.device), xp.float64)
    if tuple(weight.shape) != (n,) or not bool(xp.isfinite(weight.sum())):
        rule = f"must be {n} finite numbers"
        _check.fail(owner, "sample_weight", rule, tuple(weight.shape))
    if bool((weight < 0).any()) or not bool((weight > 0).any()):
        rule = "must be non-negative and not all 0"
        _check.fail(owner, "sample_weight", rule, float(weight.min()))
    return weight
