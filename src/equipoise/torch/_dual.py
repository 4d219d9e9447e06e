"""Multipliers of a training loop: proportional and integral to what constraints are broken by."""

from __future__ import annotations

from typing import Any

# A multiplier is so many times the value of its constraint, plus the sum of all earlier values times
# the second number; both in units of the loss's slope. Chosen; not varied.
PROPORTIONAL, INTEGRAL = 10.0, 0.1

# How fast the mean slope of the loss forgets. Chosen.
SLOPE_DECAY = 0.99

# The mean slope of a logistic loss with respect to the scores, summed over the rows of a batch: 1/4 is that
# of a model which knows little. Multipliers are in units of what the user's loss has, so that a loss in other
# units, or one that is summed over rows, gets multipliers in proportion.
USUAL_SLOPE = 0.25


class Multipliers:
    """Multipliers (m,) of constraints, and the rule that moves them.

    1. integral <- max(0, integral + INTEGRAL * unit * value)
    2. multiplier <- max(0, integral + PROPORTIONAL * unit * value)

    The second line is the multiplier of the augmented Lagrangian; the first is its update, slowed down
    to the pace of mini-batches.
    """

    def __init__(self, count: int) -> None:
        import torch

        self.integral = torch.zeros(count, dtype=torch.float64)
        self.now = torch.zeros(count, dtype=torch.float64)

    def step(self, values: Any, unit: Any) -> None:
        """Move by the values of the constraints."""
        integral, values = self.integral.to(values.device), values.double()
        self.integral = (integral + INTEGRAL * unit * values).clamp_min(0.0)
        self.now = (self.integral + PROPORTIONAL * unit * values).clamp_min(0.0)

    def state_dict(self) -> dict[str, Any]:
        """Return what there is to store."""
        return {"integral": self.integral.clone(), "now": self.now.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what was stored."""
        self.integral, self.now = state["integral"].clone(), state["now"].clone()


class LossSlope:
    """The running mean of the loss's slope, which is the unit of multipliers."""

    def __init__(self) -> None:
        self.total, self.weight = 0.0, 0.0

    def add(self, slope: float) -> None:
        """Take in the slope of a batch: the sum over its rows of absolute derivatives."""
        self.total = SLOPE_DECAY * self.total + slope
        self.weight = SLOPE_DECAY * self.weight + 1.0

    @property
    def unit(self) -> float:
        """The mean slope, relative to that of a usual loss; 1 where it is not known."""
        mean = self.total / self.weight if self.weight else 0.0
        return mean / USUAL_SLOPE if mean > 0.0 else 1.0
