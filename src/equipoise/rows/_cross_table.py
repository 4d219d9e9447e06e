"""Rows by group and label, and how many of them a model predicts positive."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equipoise._array import Array, counted, is_tensor, namespace


@dataclass(frozen=True)
class Confusion:
    """Counts of G groups of rows, by label (0: negative, 1: positive), shape (G, 2) each."""

    rows: np.ndarray  # how many there are
    weight: np.ndarray  # their weight
    squares: np.ndarray  # the sum of their squared weights
    positive: np.ndarray  # the weight of those predicted positive

    def __add__(self, other: Confusion) -> Confusion:
        """Return the counts over the rows of both."""
        return Confusion(
            self.rows + other.rows,
            self.weight + other.weight,
            self.squares + other.squares,
            self.positive + other.positive,
        )

    def placed(self, places: np.ndarray, count: int) -> Confusion:
        """Return the counts as those of some of `count` groups."""
        spread = [np.zeros((count, 2), part.dtype) for part in self._parts]
        for target, part in zip(spread, self._parts):
            target[places] = part
        return Confusion(*spread)

    @property
    def _parts(self) -> tuple[np.ndarray, ...]:
        return self.rows, self.weight, self.squares, self.positive


@dataclass(frozen=True)
class CrossTable:
    """The cell of every row, by group and label; what no prediction changes is counted once.

    Attributes
    ----------
    codes : array or tensor of shape (n,)
        Twice the number of the row's group, plus its label.
    weight : array or tensor of shape (n,), or None
    unpredicted : Confusion
        With no row predicted positive.
    """

    codes: Array
    weight: Array | None
    unpredicted: Confusion

    @staticmethod
    def of(positive: Array, weight: Array | None, groups: Array | None, count: int) -> CrossTable:
        """Count the rows of `count` groups, whose numbers are `groups`, or of all rows together."""
        if is_tensor(positive):
            codes = namespace(positive).astype(positive, namespace(positive).int32)
        else:
            codes = positive.astype(np.min_scalar_type(2 * count - 1))
            groups = None if groups is None else groups.astype(codes.dtype)
        if groups is not None:
            codes = codes + 2 * groups

        def table(weights: Array | None) -> np.ndarray:
            return counted(codes, weights, 2 * count).reshape(count, 2)

        rows = table(None)
        heavy = rows.astype(np.float64) if weight is None else table(weight)
        squares = heavy if weight is None else table(weight**2)
        return CrossTable(codes, weight, Confusion(rows, heavy, squares, np.zeros((count, 2))))

    def predicting(self, positive: Array) -> Confusion:
        """Return the counts where these rows are predicted positive."""
        known = self.unpredicted
        weight = None if self.weight is None else self.weight[positive]
        found = counted(self.codes[positive], weight, known.rows.size)
        return replace(known, positive=found.reshape(-1, 2).astype(np.float64))
