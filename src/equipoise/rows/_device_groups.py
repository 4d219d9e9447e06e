"""Sensitive columns whose codes are tensors, beside the rows they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise._array import Array, counted, is_tensor, namespace, to_numpy
from equipoise.rows._group_column import Cell, GroupColumn
from equipoise.rows._group_input import SENSITIVE_FEATURES, array_of, check_count, coded, columns_of
from equipoise.rows._groups import Groups


@final
class DeviceGroups(Groups):
    """Sensitive columns of rows that are a tensor.

    Parameters
    ----------
    features : tensor, array, data frame or dict of columns
        One column, or several; tensors of numbers, or anything that `MemoryGroups` takes.
    beside : tensor
        The rows: codes are kept on their device, and there are as many.
    owner : str
        Whom messages about them name.
    """

    def __init__(self, features: Any, beside: Array, owner: str = "DeviceGroups") -> None:
        owner = _check.text("DeviceGroups", "owner", owner)
        if not is_tensor(beside):
            _check.fail(owner, "beside", "must be a tensor", beside)
        n = int(beside.shape[0])
        named = _columns_of(owner, features)
        self.columns: dict[str, GroupColumn] = {}
        self._codes: dict[tuple[str, ...], Array] = {}
        self._crossed: dict[tuple[str, ...], GroupColumn] = {}
        for name, column in named.items():
            values, codes = _coded(owner, name, column, beside, n)
            prefix = "" if len(named) == 1 else f"{name}="
            labels = [f"{prefix}{value}" for value in values]
            counts = counted(codes, None, len(values))
            self.columns[name] = GroupColumn((name,), values, labels, counts)
            self._codes[(name,)] = codes

    @property
    def arrays(self) -> Mapping[str, np.ndarray]:  # type: ignore[override]
        """The columns, brought to the host."""
        return {
            name: np.asarray(column.values)[self.host_codes(name)]
            for name, column in self.columns.items()
        }

    def taken(self, rows: Array) -> DeviceGroups:
        """Return the columns of some of the rows, with the values that occur there."""
        changed = copy(self)
        changed.columns, changed._codes, changed._crossed = {}, {}, {}
        for name, column in self.columns.items():
            xp = namespace(rows)
            found, codes = xp.unique_inverse(self._codes[(name,)][rows])
            values, labels = (
                [own[i] for i in found.tolist()] for own in (column.values, column.labels)
            )
            changed._codes[(name,)] = xp.astype(codes, xp.int32)
            changed.columns[name] = GroupColumn(
                (name,), values, labels, counted(codes, None, len(values))
            )
        return changed

    def codes(self, names: str | tuple[str, ...]) -> Array:
        """Return the code of every row in a column, or in the intersections of several."""
        names = (names,) if isinstance(names, str) else names
        if names not in self._codes:
            self.crossed(names)
        return self._codes[names]

    def host_codes(self, name: str) -> np.ndarray:
        """Return the codes of a column, brought to the host."""
        return to_numpy(self._codes[(name,)]).astype(np.int16)

    def belongs(self, cell: Cell) -> Array:
        """Return which rows belong to a cell, pooled parts included: a boolean tensor (n,)."""
        found: Any = None
        for part in cell.parts:
            names, values = zip(*part.values)
            single = len(names) == 1
            column = self.named(names[0] if single else names)
            code = column.find(values[0] if single else values)
            inside = self.codes(names) == (-1 if code is None else code)
            found = inside if found is None else found | inside
        return found

    def crossed(self, names: tuple[str, ...]) -> GroupColumn:
        """Return the groups that rows share in all of these columns; only those that occur."""
        if names not in self._crossed:
            self._crossed[names] = self._cross(names)
        return self._crossed[names]

    def _cross(self, names: tuple[str, ...]) -> GroupColumn:
        sizes = tuple(len(self.columns[name].values) for name in names)
        first, *others = names
        xp = namespace(self._codes[(first,)])
        codes = xp.astype(self._codes[(first,)], xp.int64)
        for name, size in zip(others, sizes[1:]):
            codes = codes * size + self._codes[(name,)]
        cells, inverse = xp.unique_inverse(codes)
        places = np.unravel_index(to_numpy(cells).astype(np.int64), sizes)
        values = [
            tuple(self.columns[name].values[place] for name, place in zip(names, each))
            for each in zip(*places)
        ]
        labels = [" & ".join(f"{c}={v}" for c, v in zip(names, value)) for value in values]
        self._codes[names] = xp.astype(inverse, xp.int32)
        return GroupColumn(names, values, labels, counted(self._codes[names], None, len(values)))


def _columns_of(owner: str, features: Any) -> dict[str, Any]:
    """Return the columns by name; those of a tensor as `MemoryGroups` names those of an array."""
    if not is_tensor(features):
        return columns_of(owner, features)
    if features.ndim == 2 and features.shape[1] != 1:
        return {f"column {i}": features[:, i] for i in range(features.shape[1])}
    return {"group": features[:, 0] if features.ndim == 2 else features}


def _coded(owner: str, name: str, column: Any, beside: Array, n: int) -> tuple[list[Any], Array]:
    """Return the distinct values, and the code of each row as a tensor beside the rows."""
    xp = namespace(beside)
    if not is_tensor(column):
        values, codes = coded(owner, name, array_of(owner, name, column, n))
        return values, xp.asarray(codes.astype(np.int32), device=beside.device)
    if column.ndim != 1 or column.shape[0] != n:
        rule = f"must have one value for each of the {n} rows"
        _check.fail(owner, SENSITIVE_FEATURES, rule, tuple(column.shape))
    if column.is_floating_point() and bool((column != column).any()):
        _check.fail(owner, SENSITIVE_FEATURES, "must not have missing values", name)
    values, codes = xp.unique_inverse(xp.asarray(column, device=beside.device))
    check_count(owner, name, int(values.shape[0]), n)
    return values.tolist(), xp.astype(codes, xp.int32)
