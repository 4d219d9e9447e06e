"""Adult for networks: training and validation rows by seed, and test rows that decide nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from equipoise.datasets import load_adult

VALIDATION = 0.25  # of UCI's training rows


@dataclass(frozen=True)
class Rows:
    """Rows as tensors, and the numbers that all methods are judged by."""

    X: torch.Tensor
    y: torch.Tensor
    group: torch.Tensor  # 1 for women

    def gap(self, scores, odds: bool) -> float:
        """The largest difference of the groups' counted rates: of all rows, or of each class."""
        positive, y, women = (scores > 0).double(), self.y > 0, self.group > 0
        parts = [y, ~y] if odds else [torch.ones_like(y)]
        return max(
            float((positive[part & women].mean() - positive[part & ~women].mean()).abs())
            for part in parts
        )

    def accuracy(self, scores) -> float:
        return float(((scores > 0) == (self.y > 0)).double().mean())


@dataclass(frozen=True)
class Data:
    """Three sets of rows."""

    train: Rows
    validation: Rows
    test: Rows


def adult(seed: int) -> Data:
    """UCI's training rows, divided by the seed, and UCI's test rows; columns standardised by the first."""
    data = load_adult("raw")
    dense = np.asarray(data.X.todense() if hasattr(data.X, "todense") else data.X, dtype=float)
    shuffled = np.random.default_rng(seed).permutation(data.split["train"])
    held = round(VALIDATION * shuffled.size)
    parts = shuffled[held:], shuffled[:held], data.split["test"]
    centre, scale = dense[parts[0]].mean(axis=0), dense[parts[0]].std(axis=0)
    scale[scale == 0.0] = 1.0

    def rows(index):
        return Rows(
            torch.tensor((dense[index] - centre) / scale, dtype=torch.float32),
            torch.tensor(data.y[index], dtype=torch.float32),
            torch.tensor((data.groups[index] == "female").astype(np.int64)),
        )

    return Data(*map(rows, parts))
