"""Steps of every method: ``make(net, adam, rows)`` returns what is called with the rows of each batch."""

from __future__ import annotations

import cooper
import torch
from humancompatible.train.dual_optim import ALM
from torch.nn.functional import binary_cross_entropy_with_logits as logistic

from equipoise import demographic_parity, equalized_odds
from equipoise.torch import ConstrainedOptimizer

COOPER_DUAL_STEP = 1e-2  # of its README, with Adam's 1e-3
HUMANCOMPATIBLE = {"lr": 0.01, "penalty": 1.0, "is_ineq": True}  # its default step; README's kind
PENALTIES = (0.1, 0.2, 0.4, 0.8, 1.6)


def rule(odds: bool, bound: float):
    return equalized_odds(bound) if odds else demographic_parity(bound)


def violations(positive, y, group, odds: bool, bound: float):
    """Both signs of every difference of rates in a batch, minus the bound; 0 without rows of a group."""
    found = []
    for part in [y > 0, y <= 0] if odds else [torch.ones_like(y, dtype=torch.bool)]:
        women, men = part & (group > 0), part & (group == 0)
        if women.any() and men.any():
            difference = positive[women].mean() - positive[men].mean()
        else:
            difference = 0.0 * positive.sum()
        found += [difference - bound, -difference - bound]
    return torch.stack(found)


def plain(net, adam, rows):
    def step(index):
        loss = logistic(net(rows.X[index])[:, 0], rows.y[index])
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


def ours(odds: bool, bound: float):
    def make(net, adam, rows):
        constrained = ConstrainedOptimizer(adam, rule(odds, bound), rows.y, rows.group)

        def step(index):
            scores = net(rows.X[index])[:, 0]
            constrained.step(logistic(scores, rows.y[index]), scores, rows=index)

        step.constrained = constrained
        return step

    return make


def penalty(odds: bool, weight: float):
    """The smooth differences of a batch, times a fixed weight, added to the loss."""

    def make(net, adam, rows):
        def step(index):
            scores, y = net(rows.X[index])[:, 0], rows.y[index]
            gaps = violations(torch.sigmoid(scores), y, rows.group[index], odds, 0.0)
            adam.zero_grad()
            (logistic(scores, y) + weight * gaps.clamp_min(0.0).sum()).backward()
            adam.step()

        return step

    return make


def with_cooper(odds: bool, bound: float):
    """Its simultaneous gradient steps; smooth rates for the network, counted ones for the multipliers."""

    def make(net, adam, rows):
        class Constrained(cooper.ConstrainedMinimizationProblem):
            def __init__(self):
                super().__init__()
                multiplier = cooper.multipliers.DenseMultiplier(num_constraints=4 if odds else 2)
                self.bounds = cooper.Constraint(
                    multiplier=multiplier, constraint_type=cooper.ConstraintType.INEQUALITY
                )

            def compute_cmp_state(self, index):
                scores, y, group = net(rows.X[index])[:, 0], rows.y[index], rows.group[index]
                state = cooper.ConstraintState(
                    violation=violations(torch.sigmoid(scores), y, group, odds, bound),
                    strict_violation=violations((scores > 0).float(), y, group, odds, bound),
                )
                return cooper.CMPState(logistic(scores, y), {self.bounds: state})

        problem = Constrained()
        dual = torch.optim.SGD(problem.dual_parameters(), lr=COOPER_DUAL_STEP, maximize=True)
        optimizer = cooper.optim.SimultaneousOptimizer(problem, adam, dual)
        return lambda index: optimizer.roll(compute_cmp_state_kwargs={"index": index})

    return make


def with_humancompatible(odds: bool, bound: float):
    """Its augmented Lagrangian, on the smooth rates of a batch."""

    def make(net, adam, rows):
        dual = ALM(m=4 if odds else 2, **HUMANCOMPATIBLE)

        def step(index):
            scores, y = net(rows.X[index])[:, 0], rows.y[index]
            found = violations(torch.sigmoid(scores), y, rows.group[index], odds, bound)
            dual.forward_update(logistic(scores, y), found).backward()
            adam.step()
            adam.zero_grad()

        return step

    return make
