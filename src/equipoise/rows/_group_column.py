"""One sensitive column: its groups as codes, and how a group is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from equipoise.rows._group_input import in_order


@dataclass(frozen=True)
class Cell:
    """One group: a value of one sensitive column, or of each of several; or several of these, pooled."""

    values: tuple[tuple[Any, Any], ...]  # (column, value) pairs
    pooled: tuple[Cell, ...] = ()  # further cells whose rows belong to the group

    @property
    def parts(self) -> tuple[Cell, ...]:
        """The cells that are pooled; the cell alone where none is."""
        return (Cell(self.values), *self.pooled)

    def __str__(self) -> str:
        own = " & ".join(f"{column}={value}" for column, value in self.values)
        return " or ".join([own, *map(str, self.pooled)])


class GroupColumn:
    """One sensitive column, or the intersections of several.

    Attributes
    ----------
    columns : tuple of str
        Its name; several for an intersection.
    values : tuple
        The distinct values, sorted where they can be; tuples for an intersection.
    labels : tuple of str
        How the groups are called in messages and reports.
    counts : ndarray of int
        The rows of each group.
    codes : ndarray of shape (n,), or None where the rows are elsewhere
        The position of each row's value in `values`.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        values: Sequence[Any],
        labels: Sequence[str],
        counts: np.ndarray,
        codes: np.ndarray | None = None,
    ) -> None:
        self.columns, self.values, self.labels = columns, tuple(values), tuple(labels)
        self.counts = counts
        self.codes = None if codes is None else codes.astype(np.int16)  # MAX_GROUPS fit
        self._position = {value: code for code, value in enumerate(values)}

    @property
    def name(self) -> str:
        """The name of the column, or of the columns."""
        return " & ".join(self.columns)

    def find(self, value: Any) -> int | None:
        """Return the code of a value, or None."""
        return self._position.get(value)

    @cached_property
    def _order(self) -> tuple[np.ndarray, np.ndarray]:
        assert self.codes is not None
        order = row_numbers(np.argsort(self.codes, kind="stable"))  # 16 bits: a radix sort
        return order, np.r_[0, np.cumsum(self.counts)]

    def members(self, code: int) -> np.ndarray:
        """Return the rows of a group, in their order."""
        order, ends = self._order
        return order[ends[code] : ends[code + 1]]

    def taken(self, order: np.ndarray) -> GroupColumn:
        """Return the column with its rows in another order."""
        assert self.codes is not None
        return GroupColumn(self.columns, self.values, self.labels, self.counts, self.codes[order])

    @staticmethod
    def merged(parts: Sequence[GroupColumn]) -> GroupColumn:
        """Return the column of the rows of all parts, without their codes."""
        counts: dict[Any, int] = {}
        names: dict[Any, str] = {}
        for part in parts:
            for value, label, count in zip(part.values, part.labels, part.counts.tolist()):
                counts[value] = counts.get(value, 0) + count
                names[value] = label
        values = in_order(counts)
        totals = np.array([counts[value] for value in values])
        return GroupColumn(parts[0].columns, values, [names[v] for v in values], totals)


def row_numbers(rows: np.ndarray) -> np.ndarray:
    """Return row numbers in 32 bits, where they fit."""
    return rows if len(rows) >= 1 << 31 else rows.astype(np.int32)
