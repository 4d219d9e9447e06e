"""Rates of a network in training: running means over cells, from one mini-batch after the other."""

from __future__ import annotations

from typing import Any

from equipoise.terms import Scores
from equipoise.torch._cells import TrainingCells

# A cell's means are over about so many of its newest rows: with them, a rate of one half has the standard
# error sqrt(1/4 / 1000), about .016. Chosen.
REMEMBERED_ROWS = 1000.0

# They forget no more slowly than in so many steps, however few rows of a cell there are in a batch: older
# scores are of quite another network. Chosen.
REMEMBERED_STEPS = 50.0


class RunningRates:
    """Smooth and counted means over cells, which forget old rows, and constraints made of them.

    With S the sums of a pointwise function over the rows of a cell in a step, and n their number,

        numerator <- decay * numerator + S,  denominator <- decay * denominator + n,
        decay = min(exp(-n / 1000), 1 - 1/50),

    and the mean is their quotient. Its bias is that of old scores: the rows that it is made of were scored by
    networks up to a few times 1000 rows of the cell ago, or 50 steps.

    Parameters
    ----------
    cells : TrainingCells
    """

    def __init__(self, cells: TrainingCells) -> None:
        import torch

        self._cells = cells
        parts, count = len(cells.parts), cells.counts.size
        # The last row holds numbers of rows; the others sums of every function, smooth, then counted.
        self.sums = torch.zeros(2 * parts + 1, count, dtype=torch.float64)
        self.pending = torch.zeros_like(self.sums)  # of the batches since the last step
        self.expected = torch.zeros(count, dtype=torch.float64)  # rows of a cell in a batch
        self._weights = [torch.tensor(part.weights) for part in cells.parts]
        self._offsets = torch.tensor(cells.offsets)
        self._sides = torch.tensor(cells.positive).double() * 2.0 - 1.0

    def batch(self, scores: Any, cell: Any) -> tuple[Any, list[Any]]:
        """Return the sums over a batch, like `sums`, and the slope of every function at every score."""
        import torch

        self._to(scores.device)
        found, slopes = torch.zeros_like(self.sums), []
        side = self._sides[cell].to(scores.dtype)
        parts = len(self._cells.parts)
        for place, part in enumerate(self._cells.parts):
            z = Scores(side * scores if part.of_margin else scores)
            slope = part.function.slope(z)
            slopes.append(side * slope if part.of_margin else slope)
            found[place].index_add_(0, cell, part.function.value(z).double())
            found[parts + place].index_add_(0, cell, part.function.thresholded(z).double())
        found[-1].index_add_(0, cell, torch.ones_like(scores, dtype=torch.float64))
        return found, slopes

    def add(self, found: Any) -> None:
        """Take in the sums over a batch, of all processes."""
        rows = found[-1]
        first = self.expected.sum() == 0
        decay = 0.0 if first else 1.0 - 1.0 / REMEMBERED_STEPS
        self.expected = decay * self.expected + (1.0 - decay) * rows
        self.pending = self.pending + found

    def gradient(self, multipliers: Any, slopes: list[Any], cell: Any) -> Any:
        """Return the derivative of the weighted constraints with respect to the scores of a batch.

        Sums are divided by the number of rows that a batch has on average, so that batches that happen to
        have few rows of a cell do not weigh them more.
        """
        total = 0.0
        for weights, slope in zip(self._weights, slopes):
            each = (multipliers @ weights) / self.expected.clamp_min(1e-12)
            total = total + each[cell].to(slope.dtype) * slope
        return total

    def step(self) -> None:
        """Make the batches since the last step part of the means."""
        import torch

        decay = torch.exp(-self.pending[-1] / REMEMBERED_ROWS)
        decay = decay.clamp_max(1.0 - 1.0 / REMEMBERED_STEPS)
        self.sums = decay * self.sums + self.pending
        self.pending = torch.zeros_like(self.sums)

    def values(self, counted: bool = True) -> Any:
        """Return the constraint functions of the means (m,); 0 where a cell they need was not seen."""
        import torch

        parts, rows = len(self._weights), self.sums[-1]
        means = self.sums[:-1] / rows.clamp_min(1e-12)
        chosen = means[parts:] if counted else means[:parts]
        found, unseen = self._offsets.clone(), rows == 0
        unknown = torch.zeros_like(found)
        for weights, mean in zip(self._weights, chosen):
            found = found + weights @ mean
            unknown = unknown + weights.abs() @ unseen.double()
        return torch.where(unknown > 0, torch.zeros_like(found), found)

    def _to(self, device: Any) -> None:
        """Move to where the scores are."""
        if self.sums.device == device:
            return
        for name in ("sums", "pending", "expected", "_offsets", "_sides"):
            setattr(self, name, getattr(self, name).to(device))
        self._weights = [weights.to(device) for weights in self._weights]

    def state_dict(self) -> dict[str, Any]:
        """Return what there is to store."""
        return {name: getattr(self, name).clone() for name in ("sums", "pending", "expected")}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what was stored."""
        for name in ("sums", "pending", "expected"):
            setattr(self, name, state[name].clone())
        device = self.sums.device
        self._offsets, self._sides = self._offsets.to(device), self._sides.to(device)
        self._weights = [weights.to(device) for weights in self._weights]
