"""Training a network under constraints by mini-batches: the features that its last layer gets."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.run import Budget
from equipoise.terms import Combination, Scores, ScoreSum
from equipoise.torch._batch_prices import BatchPrices
from equipoise.torch._group_batches import SpreadOrder
from equipoise.torch._net_judge import Epoch, Judge, scores_of

# The share of `max_seconds` that the network may use; the rest is for its last layer. Chosen.
SHARE_OF_TIME = 0.7

# Batches over which sums are averaged, at the most: a rate of a group is then known to about 0.005. Chosen.
AVERAGED_BATCHES = 50


@dataclass(frozen=True)
class Settings:
    """How a network is trained; see `ConstrainedNetClassifier`."""

    learning_rate: float
    batch: int
    epochs: int
    patience: int
    validation: float
    weight_decay: float
    seed: int


def train(
    owner: str,
    module: Any,
    X: Any,
    sums: ScoreSum,
    combination: Combination,
    cells: np.ndarray,
    settings: Settings,
    budget: Budget,
    judge: Judge | None = None,
) -> list[Epoch]:
    """Train a module in place, and leave it as it was after its best epoch; return all epochs.

    The best one is told by `judge`, or without one by a part of the rows that is left out.

    A batch gives the sums over its rows, scaled to all rows: unbiased estimates of the rates. Their slopes,
    weighted by the multipliers, are what autograd takes back to the parameters. The multipliers follow
    counted rates, since these are what the bounds speak of, while slopes are those of smooth ones.
    """
    import torch

    rng = np.random.default_rng(settings.seed)
    n = cells.size
    order = SpreadOrder(cells).draw(rng)
    held = order[: int(settings.validation * n)] if judge is None else order[:0]
    own = np.sort(order[len(held) :]) if len(held) else np.arange(n)
    per_epoch = max(1, round(own.size / settings.batch))
    drawn = SpreadOrder(cells[own])
    prices = BatchPrices(combination, min(per_epoch, AVERAGED_BATCHES))
    parameters = [p for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(
        parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings.epochs)
    if judge is None:
        judge = Judge(owner, X, sums, combination, held if len(held) else own)
    history: list[Epoch] = []
    best: tuple[Epoch, dict[str, Any]] | None = None
    waited = 0
    budget.enter("network")
    for _ in range(settings.epochs):
        module.train()
        for index in drawn.batches(settings.batch, rng):
            if _is_over(budget):
                break
            rows = own[index]
            _step(owner, module, X, sums.rows(rows, n / rows.size), rows, prices, optimizer)
            budget.steps += 1
            budget.stepped(0, None)
        if budget.steps:  # none where the time was over before the first batch
            schedule.step()
        history.append(judge(module))
        price = 2.0 * prices.largest + 1.0
        waited += 1
        if best is None or history[-1].merit(price) < best[0].merit(price):
            best, waited = (history[-1], _state(module)), 0
        if waited >= settings.patience or _is_over(budget):
            break
    assert best is not None
    module.load_state_dict(best[1])
    module.zero_grad(set_to_none=True)  # of the last batch: of no use to whoever gets the module
    module.eval()
    return history


def _step(
    owner: str,
    module: Any,
    X: Any,
    part: ScoreSum,
    rows: np.ndarray,
    prices: BatchPrices,
    optimizer: Any,
) -> None:
    """Take one step, along the slopes of the weighted sums over a batch."""
    import torch

    given = scores_of(owner, module, X[torch.as_tensor(rows, device=X.device)])
    scores = Scores(given.detach().double().cpu().numpy())
    if not np.isfinite(scores.s).all():
        rule = "must give finite scores while it is trained; lower `learning_rate`"
        _check.fail(owner, "module", rule, float("nan"))
    point = part.at(scores)
    slope = point.slope(prices.weights(point.values, part.thresholded(scores)))
    optimizer.zero_grad(set_to_none=True)
    given.backward(torch.as_tensor(slope).to(given))
    optimizer.step()


def _is_over(budget: Budget) -> bool:
    """Whether training has to end: by a wish, or to leave time for the last layer."""
    left = 0.0 if budget.max_seconds is None else (1.0 - SHARE_OF_TIME) * budget.max_seconds
    return budget.wish is not None or budget.remaining < left


def _state(module: Any) -> dict[str, Any]:
    return deepcopy(module.state_dict())
