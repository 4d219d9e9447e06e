"""Groups: sensitive columns as codes, whatever they were given as."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise.rows._group_column import GroupColumn
from equipoise.rows._group_input import (
    MAX_GROUPS,
    array_of,
    coded,
    columns_of,
    first_in_words,
    too_many,
)


class Groups(ABC):
    """The sensitive columns of the training rows."""

    columns: Mapping[str, GroupColumn]
    arrays: Mapping[str, np.ndarray]

    @abstractmethod
    def crossed(self, names: tuple[str, ...]) -> GroupColumn:
        """Return the groups that rows share in all of these columns; only those that occur."""

    @final
    def named(self, name: str | tuple[str, ...]) -> GroupColumn:
        """Return the column of a name, or the intersections of the columns of several."""
        return self.columns[name] if isinstance(name, str) else self.crossed(name)

    @final
    def column(self, owner: str, name: Any) -> GroupColumn:
        """Return the column of this name."""
        name = str(name)
        if name not in self.columns:
            _check.fail(owner, "column", f"must be one of {first_in_words(self.columns)}", name)
        return self.columns[name]

    @final
    def intersection(self, owner: str, names: tuple[Any, ...]) -> GroupColumn:
        """Return the intersections of these columns."""
        parts = [self.column(owner, name) for name in names]
        if len(parts) < 2:
            _check.fail(owner, "column", "needs two columns for intersections", names)
        found = self.crossed(tuple(part.columns[0] for part in parts))
        if len(found.values) > MAX_GROUPS:
            too_many(owner, found.name, len(found.values), int(found.counts.sum()))
        return found

    @final
    def where(self, owner: str, value: Any) -> GroupColumn:
        """Return the one column that holds `value`."""
        found = [c for c in self.columns.values() if c.find(value) is not None]
        if not found:
            known = [v for c in self.columns.values() for v in c.values]
            _check.missing(owner, "group", f"must be one of {first_in_words(known)}", value)
        if len(found) > 1:
            names = first_in_words(c.name for c in found)
            rule = f"occurs in the columns {names}: say which, as {{column: value}}"
            _check.fail(owner, "group", rule, value)
        return found[0]


@final
class MemoryGroups(Groups):
    """Sensitive columns in memory.

    Parameters
    ----------
    features : array, Series, DataFrame or dict of columns
        One column, or several; values of any kind, none missing.
    n : int
        The rows there must be.
    owner : str
        Whom messages about them name.
    """

    def __init__(self, features: Any, n: int, owner: str = "Groups") -> None:
        owner = _check.text("MemoryGroups", "owner", owner)
        n = _check.count(owner, "n", n)
        named = columns_of(owner, features)
        self.columns: dict[str, GroupColumn] = {}
        self._given: dict[str, np.ndarray] = {}
        self._order: np.ndarray | None = None
        self._crossed: dict[tuple[str, ...], GroupColumn] = {}
        for name, column in named.items():
            array = array_of(owner, name, column, n)
            values, codes = coded(owner, name, array)
            prefix = "" if len(named) == 1 else f"{name}="
            labels = [f"{prefix}{value}" for value in values]
            counts = np.bincount(codes, minlength=len(values))
            self.columns[name] = GroupColumn((name,), values, labels, counts, codes)
            self._given[name] = array

    @property
    def arrays(self) -> dict[str, np.ndarray]:  # type: ignore[override]
        """The columns as they were given, in the order of the rows."""
        if self._order is None:
            return self._given
        return {name: array[self._order] for name, array in self._given.items()}

    @property
    def codes(self) -> list[np.ndarray]:
        """The codes of every column's values, one for each row."""
        return [column.codes for column in self.columns.values() if column.codes is not None]

    def taken(self, order: np.ndarray) -> MemoryGroups:
        """Return the columns with their rows in another order."""
        changed = copy(self)
        changed._order = order if self._order is None else self._order[order]
        changed.columns = {name: column.taken(order) for name, column in self.columns.items()}
        changed._crossed = {}
        return changed

    def crossed(self, names: tuple[str, ...]) -> GroupColumn:
        """Return the groups that rows share in all of these columns; only those that occur."""
        if names not in self._crossed:
            self._crossed[names] = self._cross(names)
        return self._crossed[names]

    def _cross(self, names: tuple[str, ...]) -> GroupColumn:
        parts: list[Any] = [self.columns[name] for name in names]
        codes = np.zeros(len(self._given[names[0]]), dtype=np.int64)
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
        labels = [" & ".join(f"{c}={v}" for c, v in zip(names, value)) for value in values]
        inverse = inverse.ravel()
        counts = np.bincount(inverse, minlength=len(values))
        return GroupColumn(names, values, labels, counts, inverse)


@final
class BlockGroups(Groups):
    """The sensitive columns of several parts, as one."""

    def __init__(self, parts: Sequence[Groups]) -> None:
        self.parts = _check.sequence("BlockGroups", "parts", parts, Groups)
        if not self.parts:
            _check.fail("BlockGroups", "parts", "must hold at least one part", parts)
        names = list(self.parts[0].columns)
        self.columns = {
            name: GroupColumn.merged([part.columns[name] for part in self.parts]) for name in names
        }

    def crossed(self, names: tuple[str, ...]) -> GroupColumn:
        """Return the groups that rows share in all of these columns, over all parts."""
        return GroupColumn.merged([part.crossed(names) for part in self.parts])

    @property
    def arrays(self) -> dict[str, np.ndarray]:  # type: ignore[override]
        """The columns, brought together."""
        return {
            name: np.concatenate([part.arrays[name] for part in self.parts])
            for name in self.columns
        }
