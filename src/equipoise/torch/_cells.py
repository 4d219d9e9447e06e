"""RowCells: the rows of one class and one value of every sensitive column, numbered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from equipoise import _check
from equipoise._array import is_tensor, on_host
from equipoise.rows import MemoryTable
from equipoise.rows._group_input import array_of, columns_of
from equipoise.torch._tensor_cells import TensorCells


def crossed(codes: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray | None]]:
    """Return the cell of every row, and for each further column the combinations that occur.

    Column by column, a combination is the number so far, times the column's number of values, plus its
    code. Those that occur are numbered anew, so that numbers stay small; None stands for all.
    """
    rows = codes[0].astype(np.int64)
    known: list[np.ndarray | None] = []
    for column in codes[1:]:
        size = int(column.max(initial=0)) + 1
        possible = (int(rows.max(initial=0)) + 1) * size
        occurring, rows = np.unique(rows * size + column, return_inverse=True)
        rows = rows.ravel()
        known.append(None if occurring.size == possible else occurring)
    return rows, known


def arrays(given: Any) -> Any:
    """Return tensors as arrays, one or a dict of them; anything else as it is."""
    if isinstance(given, Mapping):
        return {name: arrays(column) for name, column in given.items()}
    return on_host(given)


class RowCells:
    """The cells of the training rows, and those of the rows of batches.

    Columns of a batch that are tensors on a GPU stay there. Whether they hold a value that no training row
    has is then told by `check`, when the answer need not be waited for.

    Parameters
    ----------
    owner : str
        Whom messages name.
    table : MemoryTable
        The training rows.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        The cell of every training row.
    first : ndarray of shape (cells,)
        A training row of every cell.
    counts : ndarray of shape (cells,)
        The training rows of every cell.
    """

    def __init__(self, owner: str, table: MemoryTable) -> None:
        features: Mapping[str, Any] = {} if table.groups is None else table.groups.columns
        self._owner, self._names = owner, tuple(features)
        self._values = [table.classes, *(column.values for column in features.values())]
        self._sorted = [_sortable(values) for values in self._values]
        codes = [
            np.asarray(table.positive, dtype=np.int64),
            *(column.codes for column in features.values()),
        ]
        self.rows, self._known = crossed(codes)
        _, self.first, self.counts = np.unique(self.rows, return_index=True, return_counts=True)
        self._numbers = [v is not None and v.dtype.kind in "iuf" for v in self._sorted]
        self._tensors: TensorCells | None = None
        if all(self._numbers):
            values = [known for known in self._sorted if known is not None]
            cells = [known[own[self.first]] for known, own in zip(values, codes)]
            self._tensors = TensorCells(values, self._known, cells)
        self._places: dict[Any, Any] = {}  # the cells of training rows, by device

    def of(self, y: Any, sensitive_features: Any, device: Any) -> Any:
        """Return the cell of every row of a batch (b,), on a device."""
        labels = y if is_tensor(y) else _check.labels(self._owner, "y", y)
        if labels.ndim != 1:
            _check.fail(self._owner, "y", "must hold one label for each row", tuple(labels.shape))
        columns = [labels, *self._columns(sensitive_features, len(labels))]
        if all(is_tensor(column) and column.device.type != "cpu" for column in columns):
            return self._of_tensors(columns, device)
        import torch

        cell = self._codes(0, arrays(columns[0]))
        for i, (column, occurring) in enumerate(zip(columns[1:], self._known), start=1):
            cell = cell * len(self._values[i]) + self._codes(i, arrays(column))
            if occurring is not None:
                cell, same = _places(occurring, cell)
                if not same.all():
                    self._refuse()
        return torch.from_numpy(cell).to(device)

    def at(self, rows: Any, device: Any) -> Any:
        """Return the cells of training rows, told by their numbers, on a device."""
        import torch

        index = rows if is_tensor(rows) else torch.as_tensor(rows)
        if index.ndim != 1 or index.dtype not in (torch.int64, torch.int32):
            rule = "must hold the numbers of training rows"
            _check.fail(self._owner, "rows", rule, (tuple(index.shape), index.dtype))
        if device not in self._places:
            self._places[device] = torch.as_tensor(self.rows).to(device)
        try:
            return self._places[device][index.to(device)]
        except IndexError:
            rule = f"must hold the numbers of training rows, below {self.rows.size}"
            _check.fail(self._owner, "rows", rule, int(index.abs().max()))

    def _of_tensors(self, columns: list[Any], device: Any) -> Any:
        """Return the cells of columns that stay on their device; whether all are known is told later."""
        for i, column in enumerate(columns):
            if not self._numbers[i]:
                self._codes(i, arrays(column))  # raises: tensors hold numbers
        assert self._tensors is not None
        return self._tensors.of(columns, device)

    def check(self) -> None:
        """Raise where a batch since the last check held a row of no cell of the training rows."""
        if self._tensors is not None and self._tensors.strange():
            self._refuse()

    def _refuse(self) -> NoReturn:
        reason = (
            "a row of a batch has a label and groups that no row of the training data given at the "
            "start has together."
        )
        raise _check.InputError(self._owner, reason, "sensitive_features")

    def _columns(self, features: Any, n: int) -> list[Any]:
        """Return the sensitive columns of a batch: tensors where they were given, else arrays."""
        owner, parameter = self._owner, "sensitive_features"
        if not self._names:
            return []
        if features is None:
            _check.fail(owner, parameter, "must be given with every batch", None)
        if is_tensor(features):
            flat = features[:, 0] if features.ndim == 2 and features.shape[1] == 1 else features
            named = (
                {f"column {i}": flat[:, i] for i in range(flat.shape[1])} if flat.ndim == 2 else {}
            )
            named = named or dict.fromkeys(self._names[:1], flat)
        else:
            named = columns_of(owner, features)
        missing = set(self._names) - set(named)
        if missing:
            _check.fail(owner, parameter, f"must have the columns {list(self._names)}", list(named))
        found = [named[name] for name in self._names]
        for name, column in zip(self._names, found):
            if is_tensor(column) and tuple(column.shape) != (n,):
                rule = f"must hold one value for each of the {n} rows of `y` in column {name!r}"
                _check.fail(owner, parameter, rule, tuple(column.shape))
        return [
            column if is_tensor(column) else array_of(owner, name, column, n)
            for name, column in zip(self._names, found)
        ]

    def _codes(self, i: int, given: np.ndarray) -> np.ndarray:
        """Return the place of every value of a column; one that has none is an error."""
        known = self._sorted[i]
        if known is not None and (
            known.dtype.kind == given.dtype.kind or given.dtype.kind in "biuf"
        ):
            place, same = _places(known, given)
            if same.all():
                return place
        places = {value: code for code, value in enumerate(self._values[i])}
        distinct, inverse = np.unique(given, return_inverse=True)
        codes = [places.get(value) for value in distinct.tolist()]
        if None in codes:
            parameter = "sensitive_features" if i else "y"
            rule = f"must hold values of the training data, {list(places)[:8]}"
            _check.fail(self._owner, parameter, rule, distinct.tolist()[codes.index(None)])
        return np.array(codes, dtype=np.int64)[inverse.ravel()]


def _sortable(values: Sequence[Any]) -> np.ndarray | None:
    """Return values as a sorted array of numbers or of texts; None where they are neither."""
    found = np.array(values)
    found = found.astype(np.int64) if found.dtype.kind == "b" else found
    plain = found.ndim == 1 and found.dtype.kind in "iufU"
    mixed = len({isinstance(value, str) for value in values}) > 1
    return found if plain and not mixed and (found[1:] > found[:-1]).all() else None


def _places(known: np.ndarray, given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the place of every number among sorted ones, and whether it is one of them."""
    place = np.minimum(np.searchsorted(known, given), len(known) - 1)
    return place, known[place] == given
