"""The loop that all methods share: the same network, steps, batches, and choice of the epoch."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import torch

WIDTH, EPOCHS, BATCH, STEP = 64, 12, 256, 1e-3


@dataclass(frozen=True)
class Found:
    """What a run gave in its best epoch, counted."""

    validation_gap: float
    validation_accuracy: float
    test_gap: float
    test_accuracy: float

    def key(self, bound: float):
        """Whether the validation rows keep the bound, then accuracy; else the smaller gap."""
        kept = self.validation_gap <= bound
        return (kept, self.validation_accuracy if kept else -self.validation_gap)


def network(columns: int, seed: int):
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(columns, WIDTH),
        torch.nn.ReLU(),
        torch.nn.Linear(WIDTH, WIDTH),
        torch.nn.ReLU(),
        torch.nn.Linear(WIDTH, 1),
    )


def judged(net, data, odds: bool) -> Found:
    with torch.no_grad():
        validation, test = (net(rows.X)[:, 0] for rows in (data.validation, data.test))
    return Found(
        data.validation.gap(validation, odds),
        data.validation.accuracy(validation),
        data.test.gap(test, odds),
        data.test.accuracy(test),
    )


@dataclass(frozen=True)
class Run:
    """The network after its best epoch, by validation rows, and what its step was."""

    net: torch.nn.Module
    step: Callable
    found: Found


def trained(make, data, odds: bool, bound: float, seed: int) -> Run:
    """Train with the step that `make(net, adam, rows)` returns.

    The step of Adam falls to 0 along a cosine for every method.
    """
    net = network(data.train.X.shape[1], seed)
    adam = torch.optim.Adam(net.parameters(), STEP)
    step = make(net, adam, data.train)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, EPOCHS)
    drawn = torch.Generator().manual_seed(seed)
    best, state = None, None
    for _ in range(EPOCHS):
        for index in torch.randperm(len(data.train.y), generator=drawn).split(BATCH):
            step(index)
        schedule.step()
        found = judged(net, data, odds)
        if best is None or found.key(bound) > best.key(bound):
            best, state = found, deepcopy(net.state_dict())
    net.load_state_dict(state)
    return Run(net, step, best)
