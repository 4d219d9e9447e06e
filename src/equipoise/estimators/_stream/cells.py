"""Cells: what a stream has shown of every class in every group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

Key = tuple[
    int, tuple[Any, ...]
]  # the number of the class, and the values of the sensitive columns


def _none(dtype: Any = np.int64) -> Any:
    return field(default_factory=lambda: np.empty(0, dtype))


@dataclass(frozen=True, eq=False)
class StreamCells:
    """Rows of one class that have the same value in every sensitive column, counted.

    Attributes
    ----------
    place : dict of key to int
        Where a cell stands in the arrays, in the order in which cells were first seen.
    rows, weight : ndarray of shape (C,)
        Of all rows seen.
    last : ndarray of shape (C,)
        The number of the last row seen, the first of the stream being 1.
    kept, new : ndarray of shape (C,)
        The rows in the memory, and those that wait to be taken into it.
    threshold : ndarray of shape (C,)
        The rows in the memory are those of higher priority.
    """

    place: Mapping[Key, int] = field(default_factory=dict)
    rows: np.ndarray = _none()
    weight: np.ndarray = _none(np.float64)
    last: np.ndarray = _none()
    kept: np.ndarray = _none()
    new: np.ndarray = _none()
    threshold: np.ndarray = _none(np.float64)

    def __len__(self) -> int:
        return len(self.place)

    @property
    def codes(self) -> np.ndarray:
        """The number of the class of every cell."""
        return np.array([code for code, _ in self.place])

    def column(self, number: int) -> np.ndarray:
        """Return the value of one sensitive column in every cell."""
        values = np.empty(len(self), dtype=object)
        values[:] = [groups[number] for _, groups in self.place]
        return values

    def with_keys(self, keys: list[Key]) -> StreamCells:
        """Return the cells and those of `keys` that are new."""
        found = [key for key in keys if key not in self.place]
        if not found:
            return self
        place = dict(self.place)
        for key in found:
            place[key] = len(place)
        grown = {
            name: np.append(array, np.zeros(len(found), array.dtype))
            for name, array in vars(self).items()
            if name != "place"
        }
        return replace(self, place=place, **grown)

    def counted(self, cell: np.ndarray, weight: np.ndarray, first: int) -> StreamCells:
        """Return the cells after rows of these cells and weights, numbered from `first` on."""
        size, last = len(self), self.last.copy()
        last[cell] = first + np.arange(len(cell))  # of several rows the last one stays
        rows = self.rows + np.bincount(cell, minlength=size)
        return replace(
            self, rows=rows, weight=self.weight + np.bincount(cell, weight, size), last=last
        )
