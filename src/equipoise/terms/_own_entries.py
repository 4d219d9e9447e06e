"""The entry of each row's own class, in arrays with one entry for each row and class."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from equipoise._array import Array, namespace, quiet
from equipoise.terms._placed import Placed


class OwnEntries:
    """Where the entry of each row's own class is, in arrays of shape (n, K).

    NumPy arrays are read and written at these n places alone. Tensors are multiplied by a mask, which
    is copied to their device once.

    Parameters
    ----------
    labels : integer array of shape (n,)
        The class ``0..K-1`` of each row.
    n_classes : int
    """

    def __init__(self, labels: np.ndarray, n_classes: int) -> None:
        self._labels, self._n_classes = labels, n_classes
        self._places = np.arange(labels.size) * n_classes + labels  # counted row by row
        self._placed = Placed(lambda: labels[:, None] == np.arange(n_classes))

    @cached_property
    def rows(self) -> list[np.ndarray]:
        """The rows of every class."""
        order = np.argsort(self._labels, kind="stable")
        counts = np.bincount(self._labels, minlength=self._n_classes)
        return np.split(order, np.cumsum(counts)[:-1])

    def taken(self, s: Array) -> Array:
        """Return the entries, as a column (n, 1)."""
        if isinstance(s, np.ndarray):
            return s.take(self._places)[:, None]
        return namespace(s).sum(self._placed.at(s) * s, axis=1, keepdims=True)

    def emptied(self, s: Array) -> Array:
        """Return a copy with 0 at these entries."""
        if isinstance(s, np.ndarray):
            changed = s.copy()
            changed.put(self._places, 0.0)
            return changed
        return s - self._placed.at(s) * s

    def balanced(self, s: Array) -> Array:
        """Return ``-s`` with entries that make each row's sum 0, for an `s` that is 0 there."""
        if isinstance(s, np.ndarray):
            changed = -s
            changed.put(self._places, row_totals(s))
            return changed
        return self._placed.at(s) * row_totals(s)[:, None] - s


@quiet
def row_totals(s: Array) -> Array:
    """Return the sum of each row of an array (n, K), for few columns.

    A product with ones is up to fifteen times as fast as NumPy's sum along rows of ten numbers.
    """
    if isinstance(s, np.ndarray):
        return s @ np.ones(s.shape[1], dtype=s.dtype)
    return namespace(s).sum(s, axis=1)
