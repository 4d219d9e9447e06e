"""Mini-batches in which every group and class has its share."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.rows import MemoryTable


def strata_of(table: MemoryTable) -> np.ndarray:
    """Return a number for every row: that of its class and of its group in every sensitive column."""
    groups: Any = table.groups
    codes = [table.positive.astype(np.int64)]
    codes += [] if groups is None else [np.asarray(column) for column in groups.codes]
    found = codes[0]
    for column in codes[1:]:
        crossed = found * (int(column.max()) + 1) + column
        found = np.unique(crossed, return_inverse=True)[1]
    return found


def spread_order(strata: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the rows in a random order in which the rows of every stratum lie evenly apart.

    The k-th of a stratum's K rows, shuffled, stands at ``(k + u) / K`` with one random `u` for the
    stratum. So any part of the order that follows on from each other holds nearly the share of every
    stratum, and every row is as likely at any place as any other of its stratum.
    """
    mixed = rng.permutation(strata.size)
    sorted_rows = mixed[np.argsort(strata[mixed], kind="stable")]
    _, first, counts = np.unique(strata[sorted_rows], return_index=True, return_counts=True)
    rank = np.arange(strata.size) - np.repeat(first, counts)
    place = (rank + np.repeat(rng.random(counts.size), counts)) / np.repeat(counts, counts)
    return sorted_rows[np.argsort(place, kind="stable")]


def batches(strata: np.ndarray, size: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return all rows in batches of about `size`: sums over one, scaled, estimate those over all rows.

    A rate of a group is then estimated from about its share of the rows of every batch, with less
    spread than from rows drawn without regard to groups.
    """
    count = max(1, round(strata.size / size))
    return np.array_split(spread_order(strata, rng), count)
