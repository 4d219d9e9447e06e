"""Mini-batches in which every group and class has its share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise.rows import MemoryTable
from equipoise.torch._cells import RowCells, arrays

OWNER = "GroupBatchSampler"


class SpreadOrder:
    """Random orders of rows in which the rows of every cell lie evenly apart.

    The k-th of a cell's K rows, shuffled, stands at ``(k + u) / K`` with one random `u` for the cell. So
    any part of the order that follows on from each other holds nearly the share of every cell, and
    every row is as likely at any place as any other of its cell.

    Parameters
    ----------
    cells : ndarray of shape (n,)
        The number of the cell of every row.
    """

    def __init__(self, cells: np.ndarray) -> None:
        ends = np.cumsum(np.unique(cells, return_counts=True)[1])
        self._members = np.split(np.argsort(cells, kind="stable"), ends[:-1])
        self._n = cells.size

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return the rows in such an order."""
        place = np.empty(self._n)
        for members in self._members:
            shuffled = rng.permutation(members.size)
            place[members] = (shuffled + rng.random()) / max(members.size, 1)
        return np.argsort(place, kind="stable")

    def batches(self, size: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Return all rows in batches of about `size`: sums over one, scaled, estimate those over all rows.

        A rate of a group is then estimated from about its share of the rows of every batch, with less
        spread than from rows drawn without regard to groups.
        """
        return np.array_split(self.draw(rng), max(1, round(self._n / size)))


@final
class GroupBatchSampler:
    """Batches of training rows in which every group of every class has its share, for a `DataLoader`.

    Every epoch goes through all rows once, in another order. A rate of a group is then estimated by
    a batch with less spread than from rows drawn without regard to groups, and no batch lacks a group that
    has a row for it.

    Parameters
    ----------
    y : array or tensor of shape (n,)
        The labels of the training rows.
    sensitive_features : array, tensor, data frame or dict of columns, optional
        Their groups.
    batch_size : int, default 256
        About so many rows: batches differ by one row at most.
    seed : int, default 0

    Notes
    -----
    `state_dict` holds the epoch, and how many of its batches were drawn. A loop that goes on from it gets the
    others of this epoch first. A `DataLoader` with workers draws batches before they are used: store
    its states between epochs.

    Examples
    --------
    >>> from equipoise.torch import GroupBatchSampler
    >>> sampler = GroupBatchSampler([0, 0, 0, 0, 1, 1], batch_size=3)
    >>> [sorted([0, 0, 0, 0, 1, 1][row] for row in rows) for rows in sampler]
    [[0, 0, 1], [0, 0, 1]]
    """

    def __init__(
        self, y: Any, sensitive_features: Any = None, batch_size: int = 256, *, seed: int = 0
    ) -> None:
        self.batch_size = _check.count(OWNER, "batch_size", batch_size, least=1)
        self.seed = _check.count(OWNER, "seed", seed)
        table = MemoryTable(arrays(y), None, arrays(sensitive_features), owner=OWNER)
        self._n, self._order = table.n_rows, SpreadOrder(RowCells(OWNER, table).rows)
        self._epoch = self._drawn = 0

    def __len__(self) -> int:
        return max(1, round(self._n / self.batch_size))

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng([self.seed, self._epoch])
        for rows in self._order.batches(self.batch_size, rng)[self._drawn :]:
            self._drawn += 1
            yield rows.tolist()
        self._epoch, self._drawn = self._epoch + 1, 0

    def state_dict(self) -> dict[str, int]:
        """Return where it is."""
        return {"epoch": self._epoch, "drawn": self._drawn}

    def load_state_dict(self, state_dict: Mapping[str, int]) -> None:
        """Go on where another one of the same rows, size and seed was."""
        where = f"{OWNER}.load_state_dict"
        _check.kind(where, "state_dict", state_dict, Mapping)
        found = [
            _check.count(where, f"state_dict[{name!r}]", state_dict.get(name))
            for name in ("epoch", "drawn")
        ]
        self._epoch, self._drawn = found
