"""Training rows in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, cast, final

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise.models import LinearUnits, linear_model
from equipoise.rows._atoms import atoms_of
from equipoise.rows._columns import column_moments, squared_distances
from equipoise.rows._cross_table import CrossTable
from equipoise.rows._digest import checksum, digest
from equipoise.rows._entries import PairEntry, RateEntry, Subgroup, SumSpec, Tally
from equipoise.rows._group_input import NAMES_LISTED
from equipoise.rows._groups import Cell, Groups, MemoryGroups, row_numbers
from equipoise.rows._memory_sums import MemorySums
from equipoise.rows._order import content_order, features_bytes, has_many_groups
from equipoise.rows._table import ColumnMoments, Table
from equipoise.terms import JoinedSums, PairFunction, PairSums, Pointwise, Rates, ScoreSum

# Bytes of features that are copied to put rows in order. Of larger data a copy would be felt; there the
# rows stay where they are. Chosen.
ORDERED_UP_TO = 1 << 26

# Bytes of features up to which rows are put in order whatever their groups: it takes a few percent of a fit,
# and few rows amplify rounding errors most. Chosen.
ORDERED_ANYWAY = 1 << 16

# Rows whose features a fingerprint reads, at the most: reading all would take some percent of a fit. Chosen.
FINGERPRINTED = 1024


@final
class MemoryTable(Table):
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
        self.labels = _labels(owner, self._y, classes)
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
        weight = self.weight if over == "sample" else self._objective
        return np.ones(self.n_rows) if weight is None else weight

    def total(self, over: str = "sample") -> float:
        """Return the weight of all rows."""
        weight = self.weight if over == "sample" else self._objective
        return float(self.n_rows if weight is None else weight.sum())

    def class_counts(self) -> np.ndarray:
        """Return the number of rows of every class."""
        return np.array([np.count_nonzero(self._y == label) for label in self.classes])

    def class_totals(self) -> np.ndarray:
        """Return the weight of the rows of every class."""
        weight = self.weights()
        return np.array([float(weight[self._y == label].sum()) for label in self.classes])

    def class_weighted(self, weights: Mapping[Any, float]) -> MemoryTable:
        """Return the table with the objective's weights multiplied by a weight for each class."""
        factor = np.ones(self.n_rows)
        for label, value in weights.items():
            factor[self._y == label] = value
        changed = copy(self)
        changed._objective = factor if self.weight is None else factor * self.weight
        changed._members = {}
        return changed

    def ordered(self) -> MemoryTable:
        """Return the table with its rows in the order of their content, if it has many groups or is small."""
        small = self.X is not None and features_bytes(self.X) <= ORDERED_ANYWAY
        return self.in_order() if small or has_many_groups(self.groups) else self

    def in_order(self) -> MemoryTable:
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

    def part(self, rows: np.ndarray) -> MemoryTable:
        """Return some of the rows, with the same classes."""
        groups: Any = None
        if self.groups is not None:
            groups = {name: column[rows] for name, column in self.groups.arrays.items()}
        own = self._objective is not self.weight and self._objective is not None
        made = MemoryTable(
            self._y[rows],
            None if self.X is None else self.X[rows],
            groups,
            weight=None if self.weight is None else self.weight[rows],
            objective_weight=self._objective[rows] if own else None,  # type: ignore[index]
            classes=self.labels,
        )
        given, size = self._whole or (np.arange(self.n_rows), self.n_rows)
        made._whole = (given if self.order is None else given[self.order])[rows], size
        return made

    def with_features(self, X: np.ndarray) -> MemoryTable:
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

    def with_labels(self, labels: np.ndarray) -> MemoryTable:
        """Return the table with these classes, of which some may have no row here."""
        changed = copy(self)
        changed.labels, changed._members, changed._crossed = labels, {}, {}
        return changed

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
        rows = self._rows_of(entry.subgroup)
        weight = self.weights(entry.subgroup.over)[rows]
        true = 0.0
        if entry.base in ("error", "churn"):
            true = float(weight[self._truth(entry)[rows]].sum())
        return Tally(len(rows), float(weight.sum()), float((weight**2).sum()), true)

    def _rows_of(self, subgroup: Subgroup) -> np.ndarray:
        """Return the rows of a subgroup that have a weight, in their order."""
        if subgroup not in self._members:
            weight = self.weights(subgroup.over)
            if subgroup.cell is None:
                rows = row_numbers(np.flatnonzero(weight > 0))
            else:
                parts = [self._members_of(cell) for cell in subgroup.cell.parts]
                rows = parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))
                rows = rows[weight[rows] > 0]
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

    def _truth(self, entry: RateEntry) -> np.ndarray:
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
        rows, values = [np.empty(0, np.int32)], [np.empty(0)]
        for entry in entries:
            index = self._rows_of(entry.subgroup)
            share = self.weights(entry.subgroup.over)[index] / entry.total
            if entry.base in ("error", "churn"):  # P(wrong) = P(truth) + sum (1 - 2 truth) sigma
                share = np.where(self._truth(entry)[index], -share, share)
            rows.append(index)
            values.append(share)
        ends = np.cumsum([len(part) for part in rows])
        index_type = sparse.get_index_dtype(maxval=max(int(ends[-1]), self.n_rows))
        columns = np.concatenate(rows).astype(index_type, copy=False), ends.astype(index_type)
        shape = (self.n_rows, len(entries))
        matrix = sparse.csc_array((np.concatenate(values), *columns), shape=shape)
        sign = None
        if any(entry.of_margin for entry in entries):
            sign = np.where(self.positive, 1, -1).astype(np.int8)
        return Rates(function, matrix, sign)

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

    def score_sums(self, specs: Sequence[SumSpec]) -> ScoreSum:
        """Return sums over the rows as functions of the scores."""
        made = [spec.on(self) for spec in specs]
        self._members = {}  # as large as the rows: let go of them
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


def _labels(owner: str, y: np.ndarray, classes: Any) -> np.ndarray:
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
