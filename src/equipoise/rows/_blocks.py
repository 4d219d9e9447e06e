"""Training rows in several blocks: each sums over its own rows, and the sums are added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from operator import add
from typing import Any, final

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise.models import LinearUnits
from equipoise.rows._block_sums import BlockSums
from equipoise.rows._digest import digest
from equipoise.rows._entries import RateEntry, RateSpec, SumSpec, Tally
from equipoise.rows._groups import BlockGroups
from equipoise.rows._memory_sums import MemorySums
from equipoise.rows._memory_table import MemoryTable
from equipoise.rows._order import has_many_groups
from equipoise.rows._table import ColumnMoments, Table
from equipoise.terms import JoinedSums, ScoreSum, Sigmoid

EMPTY_SUM = RateSpec(((Sigmoid(), ()),))  # what blocks sum up where nothing can be added up


@final
class Blocks(Table):
    """Training rows in several blocks, such as the files of a large table.

    Parameters
    ----------
    parts : sequence of MemoryTable
        With the same columns.
    starts : sequence of int, optional
        The number of each part's first row, among the rows given; by default they follow each other.
    """

    def __init__(self, parts: Sequence[MemoryTable], starts: Sequence[int] | None = None) -> None:
        self.parts = _check.sequence("Blocks", "parts", parts, MemoryTable)
        if not self.parts:
            _check.fail("Blocks", "parts", "must hold at least one table", parts)
        widths = {part.n_columns for part in self.parts}
        if len(widths) > 1:
            _check.fail("Blocks", "parts", "must have the same columns", sorted(widths))
        first = self.parts[0]
        self.n_rows = sum(part.n_rows for part in self.parts)
        self.n_columns, self.is_sparse = first.n_columns, first.is_sparse
        self.dtype = np.result_type(*(part.dtype for part in self.parts))
        self.weighted = any(part.weighted for part in self.parts)
        self.labels = _common_labels(self.parts)
        self.parts = tuple(part.with_labels(self.labels) for part in self.parts)
        grouped = [part.groups for part in self.parts if part.groups is not None]
        if grouped and len(grouped) < len(self.parts):
            rule = "must all have sensitive columns, or none of them"
            _check.fail("Blocks", "parts", rule, f"{len(grouped)} of {len(self.parts)} that do")
        self.groups = BlockGroups(grouped) if grouped else None
        follow = np.cumsum([0, *(part.n_rows for part in self.parts[:-1])]).tolist()
        self._starts = follow if starts is None else self._checked_starts(starts)

    def _checked_starts(self, starts: Sequence[int]) -> list[int]:
        found = _check.integers("Blocks", "starts", starts, self.n_rows)
        if found.size != len(self.parts):
            _check.fail("Blocks", "starts", f"must have {len(self.parts)} entries", starts)
        return found.tolist()

    @property
    def order(self) -> np.ndarray | None:  # type: ignore[override]
        """Which row stands at each place."""
        pairs = zip(self.parts, self._starts)
        return np.concatenate(
            [s + (np.arange(p.n_rows) if p.order is None else p.order) for p, s in pairs]
        )

    def ordered(self) -> Blocks:
        """Return the blocks and the rows of each in the order of their content, if groups are many."""
        if not has_many_groups(self.groups):
            return self
        parts = [part.in_order() for part in self.parts]
        places = sorted(range(len(parts)), key=lambda i: parts[i].digest())
        return Blocks([parts[i] for i in places], [self._starts[i] for i in places])

    @property
    def y(self) -> np.ndarray:
        """The labels, brought together."""
        return np.concatenate([part.y for part in self.parts])

    def total(self, over: str = "sample") -> float:
        """Return the weight of all rows."""
        return sum(part.total(over) for part in self.parts)

    def class_counts(self) -> np.ndarray:
        """Return the number of rows of every class."""
        return reduce(add, (part.class_counts() for part in self.parts))

    def class_totals(self) -> np.ndarray:
        """Return the weight of the rows of every class."""
        return reduce(add, (part.class_totals() for part in self.parts))

    def class_weighted(self, weights: Mapping[Any, float]) -> Blocks:
        """Return the table with the objective's weights multiplied by a weight for each class."""
        return Blocks([part.class_weighted(weights) for part in self.parts], self._starts)

    def tallies(self, entries: Sequence[RateEntry]) -> list[Tally]:
        """Return what the subgroups of these rates hold."""
        found = [
            part.tallies([entry.part(start, part.n_rows) for entry in entries])
            for part, start in zip(self.parts, self._starts)
        ]
        return [reduce(add, tallies) for tallies in zip(*found)]

    def moments(self) -> ColumnMoments:
        """Return weighted sums over the columns."""
        return reduce(add, (part.moments() for part in self.parts))

    def variances(self, center: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return weighted sums of squared distances from the centre, for some columns."""
        return reduce(add, (part.variances(center, columns) for part in self.parts))

    def heaviest_row(self) -> tuple[float, np.ndarray] | None:
        """Return the largest weight and the features of a row that has it; None for sparse data."""
        found = [row for part in self.parts if (row := part.heaviest_row()) is not None]
        return max(found, key=lambda row: row[0]) if found else None

    def row_sums(self, units: LinearUnits, specs: Sequence[SumSpec]) -> BlockSums:
        """Return sums over the rows, added up over the blocks."""
        return self.assembled(specs, [partial(part.row_sums, units) for part in self.parts])

    def score_sums(self, specs: Sequence[SumSpec], known: ScoreSum | None = None) -> ScoreSum:
        """Return sums over the rows of all blocks, brought together, as functions of the scores."""
        return self.gathered().score_sums(specs)

    def assembled(self, specs: Sequence[SumSpec], makers: Sequence[Any]) -> BlockSums:
        """Return sums over the rows of all blocks from makers of the sums of each."""
        additive = [spec for spec in specs if spec.additive] or [EMPTY_SUM]
        parts = [
            make([spec.part(start, part.n_rows) for spec in additive])
            for make, part, start in zip(makers, self.parts, self._starts)
        ]
        functions = [spec.on(self) for spec in specs if not spec.additive]
        whole = None
        if functions:
            whole = functions[0] if len(functions) == 1 else JoinedSums(functions)

        def gather() -> MemorySums:
            model: Any = parts[0].model
            return self.gathered().row_sums(model.units, specs)

        return BlockSums(parts, whole, self, gather)

    def gathered(self) -> MemoryTable:
        """Return the rows in one place."""
        features = [part.X for part in self.parts]
        return self._together(
            sparse.vstack(features, format="csr") if self.is_sparse else np.vstack(features)
        )

    def labelled(self) -> MemoryTable:
        """Return labels, weights and groups of all blocks in one place."""
        return self._together(None)

    def _together(self, X: Any) -> MemoryTable:
        table = MemoryTable(
            self.y,
            X,
            None if self.groups is None else self.groups.arrays,
            weight=self._joined("sample") if self.weighted else None,
            objective_weight=self._joined("objective"),
            classes=self.labels,
        )
        table.order = self.order
        return table

    def digest(self) -> str:
        """Return a short text that differs where the rows do."""
        return digest([part.digest() for part in self.parts])

    def fingerprint(self) -> str:
        """Return a short text that differs where the rows of a part do, by accident."""
        return digest([part.fingerprint() for part in self.parts])

    def _joined(self, over: str) -> np.ndarray:
        return np.concatenate([part.weights(over) for part in self.parts])


def _common_labels(parts: Sequence[MemoryTable]) -> np.ndarray:
    """Return the classes of all parts in one order: the given one where it is the same in all."""
    if len({part.classes for part in parts}) == 1:
        return parts[0].labels
    for part in parts:
        if list(part.classes) != np.unique(part.labels).tolist():
            _check.fail("Blocks", "parts", "must have the same `classes`", part.classes)
    return np.unique(np.concatenate([part.labels for part in parts]))
