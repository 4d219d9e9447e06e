"""A constraint of a training loop that the user computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from equipoise.torch._dual import LARGEST_NEWS, Multipliers
from equipoise.torch._processes import averaged


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
            mean, unit = averaged(self.total / self.batches), unit.to(self.total.device)
            self.multipliers.step(mean.clamp_(-LARGEST_NEWS, LARGEST_NEWS), unit=unit, steps=1)
            self.total, self.batches = self.total * 0.0, 0

    def state(self) -> dict[str, Any]:
        """Return all that goes on from step to step."""
        own = self.multipliers
        tensors = {"integral": own.integral, "now": own.now, "total": self.total}
        return {**{name: t.clone() for name, t in tensors.items()}, "batches": self.batches}

    @staticmethod
    def of(found: Mapping[str, Any]) -> OwnConstraint:
        """Return a constraint as it was stored."""
        own = OwnConstraint()
        own.multipliers.integral = found["integral"].clone()
        own.multipliers.now = found["now"].clone()
        own.total, own.batches = found["total"].clone(), found["batches"]
        return own
