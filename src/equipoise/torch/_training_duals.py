"""What a training loop knows of its constraints: running rates, multipliers, and the prices of scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from equipoise.torch._cell_rates import CellRates
from equipoise.torch._dual import STEPS, LossSlope, Multipliers
from equipoise.torch._processes import averaged, processes
from equipoise.torch._running_rates import RunningRates


class OwnConstraint:
    """A constraint that the user computes, with the sum of its values since the last step."""

    def __init__(self) -> None:
        import torch

        self.multipliers = Multipliers(1)
        self.total, self.batches = torch.zeros(1, dtype=torch.float64), 0

    def priced(self, value: Any) -> Any:
        """Return a value times its multiplier."""
        self.multipliers.to(value.device)
        seen = value.detach().double().reshape(1)
        self.total, self.batches = self.total.to(value.device) + seen, self.batches + 1
        return self.multipliers.now.to(value.dtype)[0] * value.reshape(())

    def step(self, unit: Any) -> None:
        """Move the multiplier by the mean of the values."""
        if self.batches:
            self.multipliers.step(
                averaged(self.total / self.batches), unit.to(self.total.device), steps=1
            )
            self.total, self.batches = self.total * 0.0, 0


class TrainingDuals:
    """The constraints of a training loop, as what is added to its loss.

    Parameters
    ----------
    rates : CellRates
    """

    def __init__(self, rates: CellRates) -> None:
        self.rates = rates
        self.running = RunningRates(rates)
        self.multipliers = Multipliers(len(rates.names))
        self.slope = LossSlope()
        self.own: dict[str, OwnConstraint] = {}
        self.steps = self.batches = 0
        self._prices: Any = None
        self._value: Any = None

    def of_rates(self, loss: Any, scores: Any, cell: Any) -> tuple[Any, Any]:
        """Return the value of the constraints times multipliers, and its gradient (b,) by the scores.

        1. measure the slope of the loss, which multipliers are in units of
        2. take the rows into the running rates
        3. give every score its price: the slope of its functions times the price of their cell
        """
        import torch

        self._to(scores.device)
        low = scores.dtype in (torch.float16, torch.bfloat16)
        rows = scores.detach().float() if low else scores.detach()
        self.slope.see(loss, scores)  # 1
        self.batches += 1
        with torch.no_grad():
            slopes = self.running.add(rows, cell)  # 2
            if self._prices is None:
                self._price(self.running.values())
            gradient = (self._prices.to(rows.dtype)[:, cell] * slopes).sum(dim=0)  # 3
        return self._value.to(rows.dtype), gradient.to(scores.dtype)

    def of_own(self, given: Mapping[str, Any]) -> Any:
        """Return the sum of the user's own constraints times multipliers."""
        return sum(
            self.own.setdefault(name, OwnConstraint()).priced(v) for name, v in given.items()
        )

    def step(self) -> None:
        """Move the multipliers by what the constraints are broken by: those of rates if it is their turn."""
        turn = self.steps % STEPS == 0
        self.steps += 1
        if turn and self.batches:
            self.running.step(self.batches, first=self.steps == 1)
            self.batches = 0
            values = self.running.values()
            self.multipliers.step(values, self.slope.unit)
            self._price(values)
        for own in self.own.values():
            own.step(self.slope.unit)

    def _price(self, values: Any) -> None:
        """Keep prices and value until the next step; processes average the gradients of their sums."""
        self._prices = self.running.prices(processes() * self.multipliers.now)
        self._value = self.multipliers.now @ values

    def _to(self, device: Any) -> None:
        for part in (self.running, self.multipliers, self.slope):
            part.to(device)

    def state(self) -> dict[str, Any]:
        """Return all that goes on from step to step; tensors are copied."""
        self.running.count()
        parts = {"running": self.running, "multipliers": self.multipliers, "slope": self.slope}
        return {
            "names": list(self.rates.names),
            "counts": [self.steps, self.batches, self.slope.seen],
            **{name: _tensors(part) for name, part in parts.items()},
            "own": {
                name: {
                    **_tensors(own.multipliers),
                    "total": own.total.clone(),
                    "batches": own.batches,
                }
                for name, own in self.own.items()
            },
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from a state that `state` gave, and that was checked."""
        self.steps, self.batches, self.slope.seen = state["counts"]
        for name in ("running", "multipliers", "slope"):
            _fill(getattr(self, name), state[name])
        self.running.forget_waiting()
        self.running.to(self.multipliers.now.device)
        self.own = {}
        for name, found in state["own"].items():
            own = self.own[name] = OwnConstraint()
            _fill(own.multipliers, found)
            own.total, own.batches = found["total"].clone(), found["batches"]
        self._prices = None


def _tensors(part: Any) -> dict[str, Any]:
    return {name: getattr(part, name).clone() for name in part.STORED}


def _fill(part: Any, found: Mapping[str, Any]) -> None:
    for name in part.STORED:
        setattr(part, name, found[name].clone())
