"""Times of one step beside the step without constraints, in turns."""

from __future__ import annotations

import time

import torch

from benchmarks.networks.training import BATCH, STEP, network

STEPS, ROUNDS = 40, 12  # in a round, of each method; and rounds, of which the quickest counts


def step_times(methods, rows) -> dict[str, float]:
    """Processor seconds for a step of every method; they take turns, round by round."""
    steps = {}
    for name, make in methods.items():
        net = network(rows.X.shape[1], 0)
        steps[name] = make(net, torch.optim.Adam(net.parameters(), STEP), rows)
    batches = torch.randperm(len(rows.y), generator=torch.Generator().manual_seed(0)).split(BATCH)
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(ROUNDS):
        for name, step in steps.items():
            start = time.process_time()
            for index in batches[:STEPS]:
                step(index)
            best[name] = min(best[name], (time.process_time() - start) / STEPS)
    return best
