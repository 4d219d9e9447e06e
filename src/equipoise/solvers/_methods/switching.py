"""Switching subgradient method (Polyak 1967; Huang & Lin 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise._array import Array
from equipoise._problem import Problem
from equipoise.solvers._parts.steps import InverseSqrt, StepRule, check_rule
from equipoise.solvers._solver import Claim, Guarantee, Solver

__all__ = ["SwitchingSubgradient"]


@dataclass(frozen=True)
class State:
    """The iterate, and those the theory speaks of."""

    x: Array  # (d,) iterate
    feasible: Array | None  # (d,) last nearly feasible iterate
    drawn: (
        Array | None
    )  # (d,) nearly feasible iterate, drawn with a probability proportional to eta
    weight: float  # sum of eta over the nearly feasible iterates


@dataclass(frozen=True, kw_only=True)
class SwitchingSubgradient(Solver[State]):
    r"""Descend the objective where nearly feasible, the worst constraint elsewhere.

    1. i <- 0 if max_j f_j(x) <= slack_t, else argmax_j f_j(x)
    2. g <- an element of the subdifferential of f_i at x
    3. x <- P_X(x - eta_t g)
    4. where i = 0: keep x_t; draw it with probability eta_t / (sum of eta so far)

    Output: the last nearly feasible iterate. The theorem's random output is ``state.drawn``.

    Guarantee: for a weakly convex objective, convex constraints and constant steps
    (`static_theory`), the drawn iterate is nearly eps-stationary after O(eps^-4) steps.

    Parameters
    ----------
    step_size : StepRule
        `Constant` (static), `InverseSqrt` (diminishing) or `Polyak`: the Polyak length on a
        violated constraint, another rule on the objective.
    slack : StepRule
        How much violation counts as nearly feasible.

    References
    ----------
    Polyak 1967; Huang & Lin 2023.
    """

    name: ClassVar[str] = "switching"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="weakly convex objective, convex constraints, non-smooth",
        quantity="E |x - x_hat|^2 <= eps^2 (constraints not regularised)",
        rate="O(eps^-4)",
        reference="Huang & Lin 2023",
    )
    claim: ClassVar[Claim] = Claim(("active", "bilinear", "convex"), residual=1e-2, steps=10_000)

    step_size: StepRule = InverseSqrt(0.1)
    slack: StepRule = InverseSqrt(1e-3)

    def __post_init__(self) -> None:
        check_rule("SwitchingSubgradient", "step_size", self.step_size)
        check_rule("SwitchingSubgradient", "slack", self.slack)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        return State(x=x0, feasible=None, drawn=None, weight=0.0)

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        point = problem.sample(rng).at(state.x)
        i = 0 if point.excess <= self.slack(t) else point.worst  # 1
        g = point.gradient(i)  # 2
        eta = self.step_size(t, point.excess if i else None, g)
        x = problem.domain.project(state.x - eta * g)  # 3
        if i:
            return State(x, state.feasible, state.drawn, state.weight)
        weight = state.weight + eta  # 4
        draw = state.drawn is None or rng.random() * weight < eta
        return State(x, state.x, state.x if draw else state.drawn, weight)

    def output(self, state: State) -> tuple[Array, None]:
        """Return the last nearly feasible iterate (the last one when none was)."""
        return (state.x if state.feasible is None else state.feasible), None
