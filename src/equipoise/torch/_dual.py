"""Multipliers of a training by mini-batches: proportional and integral to what constraints are broken by."""

from __future__ import annotations

from typing import Any

from equipoise.torch._processes import averaged

# Steps of the optimiser for one of the multipliers of running means. Chosen: these remember tens of steps, so
# hardly anything is new after one.
STEPS = 4

# A multiplier is so many times the value of its constraint, plus the sum of the values at all earlier steps
# times the second number; both in units of the loss's slope. Measured by training gaps under rules of 0.05.
# On Adult, after 1,100 steps, (4, 0.075), (10, 0.1) and (20, 0.1) end between 0.047 and 0.053. With
# (10, 0.25) one network of five under odds came to predict one class only: the running means of small
# cells lag too far behind. On 4,000 generated rows, (10, 0.1) takes 400 steps to come within 0.005.
PROPORTIONAL, INTEGRAL = 10.0, 0.1

# A constraint that is broken, or has room, by more counts for so much: a network that has just begun may be
# far away for a while, and multipliers would be wound up meanwhile. Chosen: twice a usual bound.
MOST = 0.1

# The mean slope of the loss is over about so many of the newest batches; chosen.
SLOPES = 100.0

# One batch in so many tells the slope of the loss, and all of the first ones; chosen: it takes a backward
# pass through the loss itself, and hardly changes.
EVERY = 10

# The mean slope of a logistic loss with respect to the scores, summed over the rows of a batch: 1/4 is that
# of a model which knows little. Multipliers are in units of what the user's loss has, so that a loss in other
# units, or one that is summed over rows, gets multipliers in proportion.
USUAL_SLOPE = 0.25


class Multipliers:
    """Multipliers (m,) of constraints, and the rule that moves them.

    With values limited to -MOST and MOST,

    1. integral <- max(0, integral + steps * INTEGRAL * unit * value)
    2. multiplier <- max(0, integral + PROPORTIONAL * unit * value)

    The second line is the multiplier of the augmented Lagrangian; the first is its update, slowed down
    to the pace of mini-batches.
    """

    STORED = ("integral", "now")

    def __init__(self, count: int) -> None:
        import torch

        self.integral = torch.zeros(count, dtype=torch.float64)
        self.now = torch.zeros(count, dtype=torch.float64)

    def step(self, values: Any, unit: Any = 1.0, steps: int = STEPS) -> None:
        """Move by the values of the constraints, which stand for those of so many steps."""
        values = unit * values.clamp(-MOST, MOST)
        self.integral = self.integral.add(values, alpha=steps * INTEGRAL).clamp_min_(0.0)
        self.now = self.integral.add(values, alpha=PROPORTIONAL).clamp_min_(0.0)

    def to(self, device: Any) -> None:
        """Move to where the values are."""
        if self.now.device != device:
            self.integral, self.now = self.integral.to(device), self.now.to(device)


class LossSlope:
    """The running mean of the loss's slope, which is the unit of multipliers."""

    STORED = ("unit",)

    def __init__(self) -> None:
        import torch

        self.unit = torch.ones((), dtype=torch.float64)
        self.seen = 0

    def see(self, loss: Any, scores: Any) -> None:
        """Take in a batch, if it is its turn: the sum of absolute derivatives with respect to the scores."""
        import torch

        self.seen += 1
        if self.seen > EVERY and self.seen % EVERY:
            return
        if not (loss.requires_grad and scores.requires_grad):
            return
        (found,) = torch.autograd.grad(loss, scores, retain_graph=True, allow_unused=True)
        if found is not None:
            slope = averaged(found.double().abs().sum()) / USUAL_SLOPE
            share = 1.0 if self.seen == 1 else max(1.0 / self.seen, EVERY / SLOPES)
            self.unit = torch.where(slope > 0, self.unit.lerp(slope, share), self.unit)

    def to(self, device: Any) -> None:
        """Move to where the losses are."""
        self.unit = self.unit.to(device)
