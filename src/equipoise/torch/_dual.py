"""Multipliers of a training by mini-batches: proportional and integral to what constraints are broken by."""

from __future__ import annotations

from typing import Any

from equipoise.torch._processes import averaged

# Steps of the optimiser for one of the multipliers of running means. Chosen: these remember tens of steps, so
# hardly anything is new after one; and a step of the multipliers takes as long as one of a small network.
STEPS_PER_UPDATE = 10

# A multiplier is the first number times the value of its constraint, plus the second number times the sum
# of the values at all earlier steps; both in units of the loss's slope, and both times the gain of the
# constraint.
PROPORTIONAL, INTEGRAL = 10.0, 0.1

# A constraint that is broken by more than this, or has more room, counts as if it were by this: a network
# that has just begun may be far away for a while, and multipliers would be wound up meanwhile. Chosen: twice
# a usual bound.
LARGEST_NEWS = 0.1

# The gain of a constraint is the first number over the standard error that one batch leaves it with, and from
# the second number to 1. Noise in the multiplier of a small cell weighs each of its few rows, which costs
# accuracy. Measured on divisions of Adult's training rows under odds of 0.05, where this standard error is
# 0.18 and 924 steps are taken: with a gain of 1 for all, networks had 0.012 less training accuracy than with
# 0.2, and 0.006 less on other rows. Loops of 400 steps under parity need gains near 1 to come within 0.01 of
# their bounds.
NOISE, SMALLEST_GAIN = 0.06, 0.3

# Gains fall, like the root of the learning rate, from where that is below this share of its largest value.
# Chosen: multipliers need most of the training to be found.
SLOW_PACE = 0.25

# The mean slope of the loss is over about this many of the newest batches; chosen.
SLOPE_BATCHES = 100.0

# The slope of the loss is measured in each of the first batches, this many, and then in one of as many.
# Chosen: it takes a backward pass through the loss itself, and hardly changes.
EVERY = 20

# The mean slope of a logistic loss with respect to the scores, summed over the rows of a batch: 1/4 is that
# of a model which knows little. Multipliers are in units of what the user's loss has, so that a loss in other
# units, or one that is summed over rows, gets multipliers in proportion.
USUAL_SLOPE = 0.25


def gains(errors: Any) -> Any:
    """Return the gains of constraints whose standard errors in a batch these are."""
    return (NOISE / errors.clamp_min(1e-12)).clamp_(SMALLEST_GAIN, 1.0)


class Multipliers:
    """Multipliers (m,) of constraints, and the rule that moves them.

    With values and news from -LARGEST_NEWS to LARGEST_NEWS,

    1. integral <- max(0, integral + steps * INTEGRAL * gain * unit * news)
    2. multiplier <- max(0, integral + PROPORTIONAL * gain * unit * value)

    The second line is the multiplier of the augmented Lagrangian; the first is its update, slowed down
    to the pace of mini-batches.
    """

    STORED = ("integral", "now")

    def __init__(self, count: int) -> None:
        import torch

        self.integral = torch.zeros(count, dtype=torch.float64)
        self.now = torch.zeros(count, dtype=torch.float64)

    def step(
        self,
        values: Any,
        news: Any = None,
        *,
        gain: Any = 1.0,
        unit: Any = 1.0,
        steps: int = STEPS_PER_UPDATE,
    ) -> None:
        """Move by the values of the constraints: running means, and what the newest `steps` say of them."""
        gain, news = gain * unit, values if news is None else news
        self.integral = (news * gain).mul_(steps * INTEGRAL).add_(self.integral).clamp_min_(0.0)
        self.now = (values * gain).mul_(PROPORTIONAL).add_(self.integral).clamp_min_(0.0)

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
            share = 1.0 if self.seen == 1 else max(1.0 / self.seen, EVERY / SLOPE_BATCHES)
            self.unit = torch.where(slope > 0, self.unit.lerp(slope, share), self.unit)

    def to(self, device: Any) -> None:
        """Move to where the losses are."""
        self.unit = self.unit.to(device)


class Pace:
    """How small the optimiser's learning rate is now, beside the largest there was.

    Where it falls to 0, so do the gains of multipliers: the noise in them then goes, too.
    """

    STORED = ("largest",)

    def __init__(self, optimizer: Any) -> None:
        import torch

        self._optimizer = optimizer
        self.largest = torch.zeros((), dtype=torch.float64)

    def now(self) -> float:
        """Return what gains are multiplied by."""
        rate = float(self._optimizer.param_groups[0]["lr"])
        if rate > float(self.largest):
            self.largest.fill_(rate)
        return min((rate / float(self.largest) / SLOW_PACE) ** 0.5, 1.0) if rate > 0.0 else 0.0
