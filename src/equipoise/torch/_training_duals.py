"""What a training loop knows of its constraints: running rates, multipliers, and the prices of scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from equipoise.torch._cell_rates import CellRates
from equipoise.torch._dual import LARGEST_NEWS, STEPS_PER_UPDATE, LossSlope, Multipliers, Pace
from equipoise.torch._own_constraint import OwnConstraint
from equipoise.torch._processes import processes
from equipoise.torch._running_rates import RunningRates

PARTS = ("running", "multipliers", "slope", "pace")
"""What has a state of its own."""


class TrainingDuals:
    """The constraints of a training loop, as what is added to its loss.

    Parameters
    ----------
    rates : CellRates
    optimizer : torch.optim.Optimizer
        Its learning rate sets the pace of the multipliers.
    """

    def __init__(self, rates: CellRates, optimizer: Any) -> None:
        self.rates, self.pace = rates, Pace(optimizer)
        self.running = RunningRates(rates)
        self.multipliers = Multipliers(len(rates.names))
        self.slope = LossSlope()
        self.own: dict[str, OwnConstraint] = {}
        self.steps = self.batches = 0
        self._prices: Any = None

    def of_rates(self, loss: Any, scores: Any, cell: Any) -> Any:
        """Take in a batch; return the gradient (b,) by its scores of the constraints times multipliers.

        1. measure the slope of the loss, which multipliers are in units of
        2. take the rows into the running rates
        3. give every score its price: the slope of its functions times the price of their cell
        """
        rows = scores.detach()
        if rows.element_size() < 4:  # half precision
            rows = rows.float()
        kept = self._prices
        if kept is None or kept[0].dtype != rows.dtype or kept[0].device != rows.device:
            self._price(rows)
        self.slope.see(loss, scores)  # 1
        self.batches += 1
        self.running.add(rows, cell)  # 2
        gradient = self.running.gradient(rows, cell, self._prices)  # 3
        return gradient if gradient.dtype == scores.dtype else gradient.to(scores.dtype)

    @property
    def value(self) -> Any:
        """The constraints times multipliers, as they were at the last step."""
        return self.multipliers.now @ self.running.values()

    def of_own(self, given: Mapping[str, Any]) -> Any:
        """Return the sum of the user's own constraints times multipliers."""
        return sum(
            self.own.setdefault(name, OwnConstraint()).priced(v) for name, v in given.items()
        )

    def step(self) -> None:
        """Move the multipliers by what the constraints are broken by: those of rates if it is their turn."""
        turn, left = divmod(self.steps, STEPS_PER_UPDATE)
        self.steps += 1
        if left == 0 and self.batches:
            found = self.running.step(self.batches, turn)
            self.batches = 0
            values, news = found.clamp_(-LARGEST_NEWS, LARGEST_NEWS)
            gain = self.running.gains * self.pace.now()
            self.multipliers.step(values, news, gain=gain, unit=self.slope.unit)
            self._prices = None
        for own in self.own.values():
            own.step(self.slope.unit)

    def _price(self, rows: Any) -> None:
        """Keep prices like the scores until the next step; processes average the gradients of their sums."""
        for part in (self.running, self.multipliers, self.slope):
            part.to(rows.device)
        prices = self.running.prices(processes() * self.multipliers.now)
        self._prices = prices.to(rows.dtype).unbind()

    def state(self) -> dict[str, Any]:
        """Return all that goes on from step to step; tensors are copied."""
        self.running.count()
        return {
            "names": list(self.rates.names),
            "counts": [self.steps, self.batches, self.slope.seen],
            **{name: _tensors(getattr(self, name)) for name in PARTS},
            "own": {name: own.state() for name, own in self.own.items()},
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from a state that `state` gave, and that was checked."""
        self.steps, self.batches, self.slope.seen = state["counts"]
        for name in PARTS:
            _fill(getattr(self, name), state[name])
        self.running.forget_waiting()
        self.running.to(self.multipliers.now.device)
        self.own = {name: OwnConstraint.of(found) for name, found in state["own"].items()}
        self._prices = None


def _tensors(part: Any) -> dict[str, Any]:
    return {name: getattr(part, name).clone() for name in part.STORED}


def _fill(part: Any, found: Mapping[str, Any]) -> None:
    for name in part.STORED:
        setattr(part, name, found[name].clone())
