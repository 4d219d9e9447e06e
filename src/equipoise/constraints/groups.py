"""Groups: sensitive columns as codes, whatever they were given as."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.constraints.group_input import (
    MOST_GROUPS,
    array_of,
    coded,
    columns_of,
    listed,
    too_many,
)


class GroupColumn:
    """One sensitive column: the group of every row.

    Attributes
    ----------
    columns : tuple of str
        Its name; several for an intersection.
    values : tuple
        The distinct values, sorted where they can be; tuples for an intersection.
    labels : tuple of str
        How the groups are called in messages and reports.
    codes : ndarray of shape (n,)
        The position of each row's value in `values`.
    counts : ndarray of int
        The rows of each group.
    """

    def __init__(
        self, columns: tuple[str, ...], values: list[Any], codes: np.ndarray, labels: list[str]
    ) -> None:
        self.columns, self.values, self.labels = columns, tuple(values), tuple(labels)
        self.codes = codes.astype(np.int16)  # MOST_GROUPS fit
        self.counts = np.bincount(codes, minlength=len(values))
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
        order = row_numbers(np.argsort(self.codes, kind="stable"))  # 16 bits: a radix sort
        return order, np.r_[0, np.cumsum(self.counts)]

    def members(self, code: int) -> np.ndarray:
        """Return the rows of a group, in their order."""
        order, ends = self._order
        return order[ends[code] : ends[code + 1]]


class Groups:
    """The sensitive columns of a sample.

    Parameters
    ----------
    features : array, Series, DataFrame, dict of columns, or None
        One column, or several; values of any kind, none missing.
    n : int
        The rows there must be.
    """

    def __init__(self, features: Any, n: int) -> None:
        named = columns_of(features)
        self.columns: dict[str, GroupColumn] = {}
        self.arrays: dict[str, np.ndarray] = {}
        for name, column in named.items():
            array = array_of(name, column, n)
            values, codes = coded(name, array)
            prefix = "" if len(named) == 1 else f"{name}="
            labels = [f"{prefix}{value}" for value in values]
            self.columns[name] = GroupColumn((name,), values, codes, labels)
            self.arrays[name] = array

    def column(self, owner: str, name: Any) -> GroupColumn:
        """Return the column of this name."""
        name = str(name)
        if name not in self.columns:
            _check.fail(owner, "column", f"must be one of {listed(self.columns)}", name)
        return self.columns[name]

    def intersection(self, owner: str, names: tuple[Any, ...]) -> GroupColumn:
        """Return the groups that rows share in all of these columns; only those that occur."""
        parts = [self.column(owner, name) for name in names]
        if len(parts) < 2:
            _check.fail(owner, "column", "needs two columns for intersections", names)
        codes = np.zeros(len(parts[0].codes), dtype=np.int64)
        for part in parts:
            codes = codes * len(part.values) + part.codes
        cells, inverse = np.unique(codes, return_inverse=True)
        values: list[Any] = []
        for cell in cells.tolist():
            picked = []
            for part in reversed(parts):
                cell, code = divmod(cell, len(part.values))
                picked.append(part.values[code])
            values.append(tuple(reversed(picked)))
        if len(values) > MOST_GROUPS:
            too_many(" & ".join(map(str, names)), len(values), len(codes))
        labels = [" & ".join(f"{c}={v}" for c, v in zip(names, value)) for value in values]
        return GroupColumn(tuple(names), values, inverse.ravel(), labels)

    def where(self, owner: str, value: Any) -> GroupColumn:
        """Return the one column that holds `value`."""
        found = [c for c in self.columns.values() if c.find(value) is not None]
        if not found:
            known = [v for c in self.columns.values() for v in c.values]
            _check.fail(owner, "group", f"must be one of {listed(known)}", value)
        if len(found) > 1:
            names = listed(c.name for c in found)
            rule = f"occurs in the columns {names}: say which, as {{column: value}}"
            _check.fail(owner, "group", rule, value)
        return found[0]


def row_numbers(rows: np.ndarray) -> np.ndarray:
    """Return row numbers in 32 bits, where they fit."""
    return rows if len(rows) >= 1 << 31 else rows.astype(np.int32)
