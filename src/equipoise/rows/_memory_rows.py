"""The columns of training rows in memory: labels, features, weights, groups."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, Self, cast

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise.rows._cross_table import CrossTable
from equipoise.rows._digest import checksum, digest
from equipoise.rows._entries import Subgroup
from equipoise.rows._group_column import row_numbers
from equipoise.rows._groups import Groups, MemoryGroups
from equipoise.rows._order import content_order, features_bytes, has_many_groups
from equipoise.rows._table import Table
from equipoise.terms import RowWeights

# With more bytes of features than this, rows stay in the order in which they were given: a copy would be
# felt. Chosen.
ORDERED_UP_TO = 1 << 26

# With at most this many bytes of features, rows are put in order even where there are few groups: of so few
# rows one decides much, which amplifies rounding errors, and putting them in order takes a few percent of a
# fit. Chosen.
ORDERED_ANYWAY = 1 << 16

# Rows whose features a fingerprint reads, at the most: reading all would take some percent of a fit. Chosen.
FINGERPRINTED = 1024


class MemoryRows(Table):
    """What `MemoryTable` holds, and tables made of it: some rows, in another order, with other labels."""

    divisible = True

    def __init__(
        self,
        y: Any,
        X: Any = None,
        groups: Any = None,
        *,
        weight: Any = None,
        objective_weight: Any = None,
        classes: Any = None,
        owner: str = "MemoryTable",
    ) -> None:
        owner = _check.text("MemoryTable", "owner", owner)
        self._y = _check.labels(owner, "y", y)
        n = self.n_rows = self._y.size
        self.labels = labels_of(owner, self._y, classes)
        self.order: np.ndarray | None = None
        self._whole: tuple[np.ndarray, int] | None = None  # of a part: its rows, of how many
        shape = (n, 0) if X is None else tuple(getattr(X, "shape", ()))
        if len(shape) != 2 or shape[0] != n:
            _check.fail(owner, "X", f"must be a matrix of {n} rows", X)
        self.X = X
        self.n_columns = 0 if X is None else X.shape[1]
        self.is_sparse = sparse.issparse(X)
        self.dtype = np.dtype(np.float64 if X is None else X.dtype)
        self.weighted = weight is not None
        self.weight = None if weight is None else _weights(owner, "sample_weight", weight, n)
        self._objective = self.weight
        if objective_weight is not None:
            self._objective = _weights(owner, "objective_weight", objective_weight, n)
        known = groups is None or isinstance(groups, Groups)
        self.groups = groups if known else MemoryGroups(groups, n, owner)
        self._members: dict[Subgroup, np.ndarray] = {}  # found by `tallies`, used again by `rates`
        self._known: dict[Any, RowWeights] = {}  # weights of rates, while sums are made
        self._crossed: dict[str | tuple[str, ...] | None, CrossTable] = {}

    @property
    def y(self) -> np.ndarray:
        """The labels."""
        return self._y

    @property
    def positive(self) -> np.ndarray:
        """Which rows are of the positive (second) class."""
        return self._y == self.classes[1]

    def weights(self, over: str = "sample") -> np.ndarray:
        """Return the weight of every row, in rates or in the objective."""
        weight = self._weight(over)
        return np.ones(self.n_rows) if weight is None else weight

    def _weight(self, over: str) -> np.ndarray | None:
        return self.weight if over == "sample" else self._objective

    def total(self, over: str = "sample") -> float:
        """Return the weight of all rows."""
        weight = self._weight(over)
        return float(self.n_rows if weight is None else weight.sum())

    def class_counts(self) -> np.ndarray:
        """Return the number of rows of every class."""
        return np.array([np.count_nonzero(self._y == label) for label in self.classes])

    def class_totals(self) -> np.ndarray:
        """Return the weight of the rows of every class."""
        weight = self.weights()
        return np.array([float(weight[self._y == label].sum()) for label in self.classes])

    def class_weighted(self, weights: Mapping[Any, float]) -> Self:
        """Return the table with the objective's weights multiplied by a weight for each class."""
        factor = np.ones(self.n_rows)
        for label, value in weights.items():
            factor[self._y == label] = value
        changed = copy(self)
        changed._objective = factor if self.weight is None else factor * self.weight
        changed._members = {}
        return changed

    def ordered(self) -> Self:
        """Return the table with its rows in the order of their content, if it has many groups or is small."""
        small = self.X is not None and features_bytes(self.X) <= ORDERED_ANYWAY
        return self.in_order() if small or has_many_groups(self.groups) else self

    def in_order(self) -> Self:
        """Return the table with its rows in the order of their content; as it is if it is very large."""
        if self.X is not None and features_bytes(self.X) > ORDERED_UP_TO:
            return self
        columns = [self._codes()]
        columns += [w for w in (self.weight, self._objective) if w is not None]
        groups: Any = self.groups  # in memory
        if groups is not None:
            columns += groups.codes
        order = row_numbers(content_order(self.X, columns))
        changed = copy(self)
        changed.order = order if self.order is None else self.order[order]
        changed._y, changed._members, changed._crossed = self._y[order], {}, {}
        changed.X = None if self.X is None else self.X[order]
        changed.weight = None if self.weight is None else self.weight[order]
        changed._objective = changed.weight
        if self._objective is not self.weight and self._objective is not None:
            changed._objective = self._objective[order]
        changed.groups = None if groups is None else groups.taken(order)
        return changed

    def part(self, rows: np.ndarray) -> Self:
        """Return some of the rows, with the same classes."""
        groups: Any = None
        if self.groups is not None:
            groups = {name: column[rows] for name, column in self.groups.arrays.items()}
        own = self._objective is not self.weight and self._objective is not None
        made = type(self)(
            self._y[rows],
            None if self.X is None else self.X[rows],
            groups,
            weight=None if self.weight is None else self.weight[rows],
            objective_weight=self._objective[rows] if own else None,  # type: ignore[index]
            classes=self.labels,
        )
        given, size = self._whole or (np.arange(self.n_rows), self.n_rows)
        return made.as_part((given if self.order is None else given[self.order])[rows], size)

    def as_part(self, rows: np.ndarray, size: int) -> Self:
        """Return the table as these of the rows of a larger one, which has `size` rows."""
        changed = copy(self)
        changed._whole = rows, size
        return changed

    def with_features(self, X: np.ndarray) -> Self:
        """Return the table with other features of the same rows."""
        changed = copy(self)
        changed.X, changed.n_columns, changed.dtype = X, X.shape[1], X.dtype
        changed.is_sparse, changed._members = False, {}
        return changed

    def own(self, values: np.ndarray) -> np.ndarray:
        """Return the entries for this table's rows of a vector for all rows that it is a part of."""
        if self._whole is None or len(values) != self._whole[1]:
            return values
        return values[self._whole[0]]

    def with_labels(self, labels: np.ndarray) -> Self:
        """Return the table with these classes, of which some may have no row here."""
        changed = copy(self)
        changed.labels, changed._members, changed._crossed = labels, {}, {}
        return changed

    def digest(self) -> str:
        """Return a short text that differs where the rows do."""
        arrays = None if self.groups is None else dict(self.groups.arrays)
        return digest(self.X, self._y, arrays, self.weight)

    def _codes(self) -> np.ndarray:
        """Return the number of every row's class."""
        codes = np.zeros(self.n_rows, np.int32)
        for code, label in enumerate(self.labels.tolist()):
            codes[self._y == label] = code
        return codes

    def _some_rows(self) -> Any:
        """Return the features of some rows, evenly spaced; of all, where these are few."""
        every = -(-self.n_rows // FINGERPRINTED)
        return self.X if self.X is None or every < 2 else self.X[::every]

    def fingerprint(self) -> str:
        """Return a short text that tells which rows these are: labels, groups, weights, some features."""
        codes, groups = self._codes(), cast(Any, self.groups)
        columns = () if groups is None else groups.columns.values()
        return digest(
            [None if part is None else checksum(part) for part in (self._some_rows(), self.weight)],
            [self.classes, checksum(codes)],
            [[column.name, column.values, checksum(column.codes)] for column in columns],
        )


def labels_of(owner: str, y: np.ndarray, classes: Any) -> np.ndarray:
    """Return the classes in the order given, by default sorted; `y` has no others."""
    found = np.unique(y)
    if classes is None:
        return found
    given = _check.labels(owner, "classes", classes)
    if not set(found.tolist()) <= set(given.tolist()):
        rule = f"must be the two classes of `y`, {tuple(found.tolist())}"
        _check.fail(owner, "classes", rule, given.tolist())
    return given


def _weights(owner: str, parameter: str, weight: Any, n: int) -> np.ndarray:
    if isinstance(weight, np.ndarray) and weight.dtype.kind == "b":  # a mask: the rows that count
        weight = weight.astype(np.float64)
    weight = _check.vector(owner, parameter, weight, n)
    if (weight < 0).any() or not weight.any():
        _check.fail(owner, parameter, "must be non-negative and not all 0", float(weight.min()))
    return weight
