"""LibAUC's AUC-margin loss and its optimiser PESG, with a linear model; it bounds no gap.

The losses need no more than ``pip install --no-deps libauc tqdm`` beside PyTorch.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
from scipy import sparse

from benchmarks.pareto.data import Part

EPOCHS, BATCH = 5, 100
STEP_SIZES = (0.01, 0.1, 1.0)


def installed() -> bool:
    return find_spec("libauc") is not None and find_spec("torch") is not None


def models(part: Part, seed: int, quick: bool) -> np.ndarray:
    """The weights (k, d) after every epoch, for every step size."""
    import torch
    from libauc.losses.auc import AUCMLoss
    from libauc.optimizers.pesg import PESG

    dense = part.X.toarray() if sparse.issparse(part.X) else part.X
    spread = dense.std(axis=0)
    spread[spread == 0] = 1.0
    X = torch.tensor((dense - dense.mean(axis=0)) / spread, dtype=torch.float32)
    y = torch.tensor(part.y, dtype=torch.float32)
    found = []
    for size in STEP_SIZES:
        torch.manual_seed(seed)
        linear = torch.nn.Linear(X.shape[1], 1)
        torch.nn.init.zeros_(linear.weight)
        loss = AUCMLoss(device="cpu")
        optimiser = PESG(linear.parameters(), loss_fn=loss, lr=size, verbose=False, device="cpu")
        for _ in range(1 if quick else EPOCHS):
            order = torch.randperm(len(y))
            for rows in order.split(BATCH):
                if 0 < float(y[rows].sum()) < len(rows):
                    optimiser.zero_grad()
                    loss(linear(X[rows]), y[rows]).backward()
                    optimiser.step()
            found.append(linear.weight.detach().numpy()[0].astype(float) / spread)
    return np.array([w for w in found if np.isfinite(w).all()])
