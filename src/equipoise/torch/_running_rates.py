"""Rates of a network in training: running means over cells, from one mini-batch after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.terms import Scores
from equipoise.torch._cell_rates import CellRates, FunctionOfCells
from equipoise.torch._dual import gains
from equipoise.torch._processes import summed

# A cell's means are over about this many of its newest rows: with them, a rate of one half has the standard
# error sqrt(1/4 / 1000), about .016. Chosen.
REMEMBERED_ROWS = 1000.0

# However few rows of a cell there are in a batch, its means are over no more than about this many batches:
# older scores are of quite another network. Chosen.
REMEMBERED = 50.0

# Gains are computed anew in the first turns, and then in one turn of this many: batches are alike. Chosen.
RENEWED = 10


class RunningRates:
    """Counted means over cells, which forget old rows, and the constraints that are made of them.

    With S the sum of a counted function over the rows of a cell in some batches, and n their number,

        numerator <- decay * numerator + S,  denominator <- decay * denominator + n,
        decay = min(exp(-n / 1000), exp(-batches / 50)),

    and the mean is their quotient. Its bias is that of old scores: the rows that it is made of were scored by
    networks up to a few times 1000 rows of the cell ago, or 50 batches.

    Nothing here waits for a device: all that is known of the rows stays where the scores are.

    Parameters
    ----------
    rates : CellRates
    """

    STORED = ("sums", "pending", "expected", "gains")

    def __init__(self, rates: CellRates) -> None:
        import torch

        self._parts, count = rates.parts, rates.cells.counts.size
        weights = np.zeros((len(rates.names), len(rates.parts), count))
        for place, part in enumerate(rates.parts):
            weights[:, place] = part.weights
        # The last row holds numbers of rows, the others sums of every function.
        self.sums = torch.zeros(len(rates.parts) + 1, count, dtype=torch.float64)
        self.pending = torch.zeros_like(self.sums)  # of the batches since the last step
        self._waiting: list[tuple[Any, Any]] = []  # scores and cells that are not counted yet
        self.expected = torch.zeros(count, dtype=torch.float64)  # rows of a cell in a batch
        self.gains = torch.ones(
            len(rates.names), dtype=torch.float64
        )  # of the constraints' multipliers
        self._weights = torch.tensor(weights).flatten(start_dim=1)
        self._needed = (torch.tensor(weights) != 0).any(dim=1).double()  # (m, cells)
        self._squares = torch.tensor((weights**2).sum(axis=1))
        self._offsets = torch.tensor(rates.offsets)
        self._sides = torch.tensor(rates.positive).double() * 2.0 - 1.0
        self._margins = any(part.of_margin for part in rates.parts)

    def add(self, scores: Any, cell: Any) -> None:
        """Take in the rows of a batch."""
        self._waiting.append((scores, cell))

    def gradient(self, scores: Any, cell: Any, prices: Sequence[Any]) -> Any:
        """Return the slopes (b,) of all functions at the scores, each times the price of its row's cell."""
        side = self._side(scores, cell)
        slopes = [
            part.priced(of, price.take(cell))
            for (part, of), price in zip(self._taken(scores, side), prices)
        ]
        slopes = [side * s if part.of_margin else s for part, s in zip(self._parts, slopes)]
        return slopes[0] if len(slopes) == 1 else sum(slopes)

    def count(self) -> None:
        """Count the rows that were taken in and not counted yet."""
        import torch

        if not self._waiting:
            return
        scores, cell = (torch.cat(parts) for parts in zip(*self._waiting))
        self._waiting = []
        side = self._side(scores, cell)
        found = [part.function.thresholded(of) for part, of in self._taken(scores, side)]
        found.append(torch.ones_like(scores))
        self.pending.index_add_(1, cell, torch.stack(found).double())

    def forget_waiting(self) -> None:
        """Leave out the rows that are not counted yet: those of before a stored state was taken over."""
        self._waiting = []

    def _side(self, scores: Any, cell: Any) -> Any:
        return self._sides[cell].to(scores.dtype) if self._margins else None

    def _taken(self, scores: Any, side: Any) -> list[tuple[FunctionOfCells, Scores]]:
        """Return every function with what it is taken of."""
        z = Scores(scores)
        return [(part, z.margins(side) if part.of_margin else z) for part in self._parts]

    def prices(self, multipliers: Any) -> Any:
        """Return how the weighted constraints change with the functions of a row (parts, cells).

        Sums are divided by the number of rows that a batch has on average, so that batches that happen to
        have few rows of a cell do not weigh them more.
        """
        total = (multipliers @ self._weights).reshape(len(self._parts), -1)
        return total / self.expected.clamp_min(1e-12)

    def step(self, batches: int, turn: int) -> Any:
        """Make the batches since the last call, of all processes, part of the means, for the `turn`-th time.

        Returns the constraint functions (2, m) of the means, and of the means as they were, each moved by
        what the sums of these batches differ from it, for the number of rows that batches have on average.
        That is an estimate without old rows, which does not jump where a batch has few rows of a cell.
        """
        import torch

        self.count()
        pending = summed(self.pending)
        slowest = math.exp(-batches / REMEMBERED)
        self.expected = self.expected.lerp(pending[-1] / batches, 1.0 - slowest if turn else 1.0)
        if turn < RENEWED or turn % RENEWED == 0:
            variances = 0.25 / self.expected.clamp_min(1e-12)  # of rates of one half
            self.gains = gains((self._squares @ variances).sqrt_())
        old = self._means()
        news = torch.addcmul(pending[:-1], old, pending[-1], value=-1.0)
        news = old.add_(news.div_((batches * self.expected).clamp_min_(1e-12)))
        decay = torch.exp(pending[-1] / -REMEMBERED_ROWS).clamp_max_(slowest)
        self.sums = (self.sums * decay).add_(pending)
        self.pending = torch.zeros_like(self.sums)
        return self._at(torch.stack([self._means(), news]))

    def values(self) -> Any:
        """Return the constraint functions of the means (m,); 0 where a cell they need was not seen."""
        return self._at(self._means()[None])[0]

    def _means(self) -> Any:
        return self.sums[:-1] / self.sums[-1].clamp_min(1e-12)

    def _at(self, means: Any) -> Any:
        found = means.flatten(start_dim=1) @ self._weights.T + self._offsets
        return found.mul_(self._needed @ (self.sums[-1] == 0).double() == 0)

    def to(self, device: Any) -> None:
        """Move to where the scores are."""
        if self.sums.device != device:
            for name in (*self.STORED, "_weights", "_squares", "_needed", "_offsets", "_sides"):
                setattr(self, name, getattr(self, name).to(device))
