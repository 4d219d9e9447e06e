"""TensorCells: the cells of rows whose labels and groups stay on a device, which nothing waits for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# Rows are compared with all cells at once where there are at most this many: that takes fewer operations than
# a search in every column, and little memory. Chosen.
FEW_CELLS = 64

# Whether all rows of a batch had a cell is added up for this many batches at once, which takes fewer
# operations on their device. Chosen.
BATCHES_AT_ONCE = 16


class TensorCells:
    """Looks up the cells of columns of tensors, and knows how many rows had none.

    Parameters
    ----------
    values : list of ndarray
        The sorted values of every column, which are numbers.
    combinations : list of ndarray or None
        Those that occur, for every column after the first; None stands for all. See `crossed`.
    cells : list of ndarray of shape (cells,)
        The value of every cell in every column.
    """

    def __init__(
        self,
        values: Sequence[np.ndarray],
        combinations: Sequence[np.ndarray | None],
        cells: Sequence[np.ndarray],
    ) -> None:
        self._few = len(cells[0]) <= FEW_CELLS
        self._tables = [own[:, None] for own in cells] if self._few else [*values, *combinations]
        self._moved: dict[Any, list[Any]] = {}  # the same, by device
        self._rows = 0  # of batches since the last count
        self._found: Any = 0  # those of them that had a cell
        self._same: list[Any] = []  # which they were, of the newest batches

    def of(self, columns: Sequence[Any], device: Any) -> Any:
        """Return the cell of every row (b,) on a device, of any cell where it has none."""
        if device not in self._moved:
            self._moved[device] = [_on(device, table) for table in self._tables]
        columns = [column.to(device) for column in columns]
        cell, same = (self._compared if self._few else self._searched)(columns, self._moved[device])
        self._rows += same.shape[-1]
        self._same.append(same)
        if len(self._same) == BATCHES_AT_ONCE:
            self._add_up()
        return cell

    def strange(self) -> bool:
        """Whether a row since the last call had no cell. This waits for the device."""
        self._add_up()
        rows, found = self._rows, self._found
        self._rows = self._found = 0
        return int(found) < rows

    def _add_up(self) -> None:
        import torch

        if self._same:
            self._found = self._found + torch.cat(self._same, dim=-1).sum()
            self._same = []

    @staticmethod
    def _compared(columns: Sequence[Any], tables: Sequence[Any]) -> tuple[Any, Any]:
        """Return the cells of rows, and whether a row (second axis) is of a cell: all columns agree."""
        import torch

        same = columns[0] == tables[0]
        for column, table in zip(columns[1:], tables[1:]):
            same &= column == table
        return same.view(torch.uint8).argmax(dim=0), same

    @staticmethod
    def _searched(columns: Sequence[Any], tables: Sequence[Any]) -> tuple[Any, Any]:
        """Return the cells of rows, and whether a row has one, column by column as `crossed` does."""
        values, combinations = tables[: len(columns)], tables[len(columns) :]
        cell, right = _place(values[0], columns[0])
        for column, own, occurring in zip(columns[1:], values[1:], combinations):
            code, same = _place(own, column)
            cell, right = cell * len(own) + code, right & same
            if occurring is not None:
                cell, same = _place(occurring, cell)
                right = right & same
        return cell, right


def _on(device: Any, table: np.ndarray | None) -> Any:
    import torch

    return None if table is None else torch.as_tensor(table).to(device)


def _place(known: Any, given: Any) -> tuple[Any, Any]:
    """Return the place of every number among sorted ones, and whether it is one of them."""
    import torch

    place = torch.searchsorted(known, given.to(known.dtype)).clamp_max_(len(known) - 1)
    return place, known[place] == given
