"""The rows that a stream remembers: a sample of all of them, with a fair share for every cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from equipoise.estimators._stream.cells import StreamCells

# SplitMix64, the generator of Steele, Lea & Flood (2014), which mixes the bits of a number: its increment
# and its two multipliers.
STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Rows, and what decides whether they stay.

    Attributes
    ----------
    X : array or CSR matrix of shape (n, d)
    cell : ndarray of shape (n,)
        The place of each row's cell in `StreamCells`.
    weight : ndarray of shape (n,)
        As the rows were given.
    priority : ndarray of shape (n,)
        The weight, divided by a random number between 0 and 1.
    """

    X: Any
    cell: np.ndarray
    weight: np.ndarray
    priority: np.ndarray

    def __len__(self) -> int:
        return len(self.cell)

    def taken(self, index: np.ndarray) -> SampledRows:
        """Return some of the rows."""
        return SampledRows(
            self.X[index], self.cell[index], self.weight[index], self.priority[index]
        )

    @staticmethod
    def joined(parts: Sequence[SampledRows]) -> SampledRows:
        """Return the rows of all parts; sparse or dense as those of the first."""
        first = parts[0].X
        if sparse.issparse(first):
            X = sparse.csr_array(sparse.vstack([sparse.csr_array(part.X) for part in parts]))
        else:
            X = np.concatenate(
                [part.X.toarray() if sparse.issparse(part.X) else part.X for part in parts]
            )
        names = ("cell", "weight", "priority")
        return SampledRows(
            X, *(np.concatenate([getattr(part, name) for part in parts]) for name in names)
        )

    def represented(self, cells: StreamCells) -> np.ndarray:
        """Return the weight that each row stands for; those of a cell add up to that of all its rows.

        That of a row is its own, but at least the threshold of its cell (Duffield, Lund & Thorup 2007):
        then sums over the sample are unbiased for sums over all rows; to let the weights add up
        costs a bias of the order of one row.
        """
        weight = np.maximum(self.weight, cells.threshold[self.cell])
        total = np.bincount(self.cell, weight, len(cells))
        return weight * (cells.weight / np.where(total > 0, total, 1.0))[self.cell]


def fair_sample(
    rows: SampledRows, cells: StreamCells, capacity: int
) -> tuple[SampledRows, StreamCells]:
    """Return the rows to remember, at most about `capacity`, and the cells with their thresholds.

    Every cell keeps its rows of highest priority: all of them in a small cell, and the same number
    in all larger ones.
    """
    size = len(cells)
    counts = np.bincount(rows.cell, minlength=size)
    order = np.lexsort((-rows.priority, rows.cell))
    rank = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    stays = rank < water_level(counts, capacity)
    lost, threshold = order[~stays], cells.threshold.copy()
    np.maximum.at(threshold, rows.cell[lost], rows.priority[lost])
    sample = rows.taken(order[stays])
    kept = np.bincount(sample.cell, minlength=size)
    return sample, replace(cells, threshold=threshold, kept=kept, new=np.zeros_like(kept))


def water_level(counts: np.ndarray, capacity: int) -> int:
    """Return the most that each may have so that all together have no more than `capacity`; at least 1."""
    left = capacity
    ascending = np.sort(counts).tolist()
    for position, count in enumerate(ascending):
        share = left // (len(ascending) - position)
        if count > share:
            return max(1, share)
        left -= count
    return max(1, *ascending)


def random_shares(seed: int, first: int, n: int) -> np.ndarray:
    """Return a random number between 0 and 1 for each of the rows from number `first` on.

    It is that of the row's number, so that batches of any size get the same.
    """
    z = np.arange(first, first + n, dtype=np.uint64) * np.uint64(STEP)
    z += np.array([seed], np.uint64) * np.uint64(SECOND)
    for shift, factor in ((30, FIRST), (27, SECOND)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    z ^= z >> np.uint64(31)
    return ((z >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
