"""Training a network under constraints by mini-batches: the features that its last layer gets."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.run import Budget
from equipoise.terms import Combination, Scores, ScoreSum
from equipoise.torch._net_batches import batches, spread_order

# The share of `max_seconds` that the network may use; the rest is for its last layer. Chosen.
SHARE_OF_TIME = 0.7

# Batches over which sums are averaged, at the most: a rate of a group is then known to about 0.005. Chosen.
WINDOW = 50

# What a violation of 1 weighs at first against the loss, and what that grows by while violations do not fall
# to the given share in an epoch. The first is chosen; the rule is the usual one of multiplier methods.
FIRST_WEIGHT, GROWTH, ENOUGH, MOST_WEIGHT = 4.0, 2.0, 0.75, 64.0


@dataclass(frozen=True)
class Epoch:
    """One pass over the rows: what the rows left out for validation say after it."""

    loss: float
    violation: float  # the largest, by counting

    def merit(self, price: float) -> float:
        """Return the loss with violations at a price."""
        return self.loss + price * max(self.violation, 0.0)


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


@dataclass
class BatchMultipliers:
    """Prices of constraints, from running averages of the counted sums of mini-batches.

    Attributes
    ----------
    combination : Combination
    window : int
        Batches that an average is taken over.
    lam : ndarray of shape (m,)
        The multipliers.
    weight : float
        That of a violation: what is added to the multipliers where it lasts for a window.
    """

    combination: Combination
    window: int
    lam: np.ndarray = field(init=False)
    weight: float = FIRST_WEIGHT
    _smooth: np.ndarray | None = None
    _counted: np.ndarray | None = None
    _seen: int = 0

    def __post_init__(self) -> None:
        self.lam = np.zeros(self.combination.n_constraints)
        self._last = math.inf

    def weights(self, smooth: np.ndarray, counted: np.ndarray) -> np.ndarray:
        """Return the weights (R,) of the sums in the gradient, after the sums of one more batch.

        1. average the sums over the last batches, smooth and counted ones
        2. count the violations, and move the multipliers by so much
        3. weigh objective and constraints, as an augmented Lagrangian does
        """
        if self._smooth is None or self._counted is None:
            self._smooth, self._counted = np.zeros_like(smooth), np.zeros_like(counted)
        self._seen += 1  # 1
        share = 1.0 / min(self._seen, self.window)
        self._smooth += share * (smooth - self._smooth)
        self._counted += share * (counted - self._counted)
        values = self.combination.plain_values(self._counted)[1:]  # 2
        self.lam = np.maximum(self.lam + self.weight / self.window * values, 0.0)
        prices = np.maximum(self.lam + self.weight * values, 0.0)
        return self.combination.at(self._smooth).pull(np.r_[1.0, prices])  # 3

    def end_epoch(self) -> None:
        """Weigh violations more where they have not become smaller."""
        if self._counted is None:
            return
        values = self.combination.plain_values(self._counted)[1:]
        now = float(values.max(initial=0.0))
        if now > ENOUGH * self._last and now > 0.01:
            self.weight = min(GROWTH * self.weight, MOST_WEIGHT)
        self._last = now


def train(
    owner: str,
    module: Any,
    X: Any,
    sums: ScoreSum,
    combination: Combination,
    strata: np.ndarray,
    settings: Settings,
    budget: Budget,
) -> list[Epoch]:
    """Train a module in place, and leave it as it was after its best epoch; return all epochs.

    A batch gives the sums over its rows, scaled to all rows: unbiased estimates of the rates. Their slopes,
    weighted by the multipliers, are what autograd takes back to the parameters. The multipliers follow
    counted rates, since these are what the bounds speak of, while slopes are those of smooth ones.
    """
    import torch

    rng = np.random.default_rng(settings.seed)
    n = strata.size
    order = spread_order(strata, rng)
    held = order[: int(settings.validation * n)]
    own = np.sort(order[len(held) :]) if len(held) else np.arange(n)
    per_epoch = max(1, round(own.size / settings.batch))
    multipliers = BatchMultipliers(combination, min(per_epoch, WINDOW))
    parameters = [p for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(
        parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings.epochs)
    judge = _Judge(owner, X, sums, combination, held if len(held) else own)
    history: list[Epoch] = []
    best: tuple[Epoch, dict[str, Any]] | None = None
    waited = 0
    budget.enter("network")
    for _ in range(settings.epochs):
        module.train()
        for index in batches(strata[own], settings.batch, rng):
            if _is_over(budget):
                break
            rows = own[index]
            _step(owner, module, X, sums.rows(rows, n / rows.size), rows, multipliers, optimizer)
            budget.steps += 1
            budget.stepped(0, None)
        if budget.steps:  # none where the time was over before the first batch
            schedule.step()
        multipliers.end_epoch()
        history.append(judge(module))
        price = 2.0 * float(multipliers.lam.max(initial=0.0)) + 1.0
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
    multipliers: BatchMultipliers,
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
    slope = point.slope(multipliers.weights(point.values, part.thresholded(scores)))
    optimizer.zero_grad(set_to_none=True)
    given.backward(torch.as_tensor(slope).to(given))
    optimizer.step()


class _Judge:
    """Loss and violation of a module on rows left out, in its `eval` mode."""

    def __init__(
        self, owner: str, X: Any, sums: ScoreSum, combination: Combination, rows: np.ndarray
    ) -> None:
        import torch

        self._owner, self._combination = owner, combination
        self._X = X[torch.as_tensor(rows, device=X.device)]
        self._sums = sums.rows(rows, sums.n_rows / rows.size)

    def __call__(self, module: Any) -> Epoch:
        import torch

        module.eval()
        with torch.no_grad():
            found = scores_of(self._owner, module, self._X).double().cpu().numpy()
        scores = Scores(found)
        loss = self._combination.plain_values(self._sums.values(scores))[0]
        counted = self._combination.plain_values(self._sums.thresholded(scores))[1:]
        return Epoch(float(loss), float(counted.max(initial=-math.inf)))


def scores_of(owner: str, module: Any, X: Any) -> Any:
    """Return a module's scores (n,) of some rows; refuse what is none."""
    scores = module(X)
    shape, n = tuple(getattr(scores, "shape", ())), len(X)
    if shape not in ((n,), (n, 1)) or not scores.is_floating_point():
        rule = f"must give {n} rows scores of shape ({n},) or ({n}, 1)"
        _check.fail(owner, "module", rule, shape or type(scores))
    return scores.reshape(n)


def _is_over(budget: Budget) -> bool:
    """Whether training has to end: by a wish, or to leave time for the last layer."""
    left = 0.0 if budget.max_seconds is None else (1.0 - SHARE_OF_TIME) * budget.max_seconds
    return budget.wish is not None or budget.remaining < left


def _state(module: Any) -> dict[str, Any]:
    return {name: value.detach().clone() for name, value in module.state_dict().items()}
