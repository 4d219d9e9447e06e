"""The feasibility phase: find a point where the constraints hold (Ma, Lin & Yang 2019, Remark 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise import _check
from equipoise._array import TINY, Array, norm
from equipoise._problem import Problem
from equipoise._status import Status
from equipoise.solvers._parts.steps import InverseSqrt, StepRule, check_rule
from equipoise.solvers._solver import Claim, Guarantee, Solver

__all__ = ["FeasibilityPhase"]


@dataclass(frozen=True)
class State:
    """The iterate and the best one so far."""

    x: Array  # (d,) iterate
    best: Array  # (d,) iterate with the least g so far
    excess: float  # g(best)
    drawn: Array  # (d,) iterate drawn with a probability proportional to its step size
    weight: float  # sum of the step sizes
    slope: float  # largest |g'| seen
    t: int = 0  # steps taken


@dataclass(frozen=True, kw_only=True)
class FeasibilityPhase(Solver[State]):
    r"""Projected subgradient descent on ``g = max_i f_i`` until it is small enough.

    1. g' <- gradient of the largest constraint at x
    2. x <- P_X(x - a_t g')

    Stops with `Status.FEASIBLE` at the first iterate with ``g <= slack``. When the budget ends first,
    the examiner says whether it is proved that there is no feasible point, or the output stationary for g.

    Output: the iterate with the least g. The theorem's random output is ``state.drawn``.

    Guarantee: the gradient of the Moreau envelope of g at ``state.drawn`` is at most eps in
    expectation after O(eps^-4) steps (Davis & Drusvyatskiy 2019).

    Parameters
    ----------
    step_size : StepRule, optional
        By default ``1 / (M sqrt(t + 1))`` with M the largest subgradient seen.
    slack : float
        Stop where ``g <= slack``.
    steps : int, optional
        A budget of its own, for use inside another method; by default only `solve` has one.

    References
    ----------
    Ma, Lin & Yang 2019, Remark 1; Davis & Drusvyatskiy 2019.
    """

    name: ClassVar[str] = "feasibility"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="weakly convex constraints, non-smooth; the objective is not looked at",
        quantity="g <= slack, or |grad of g's Moreau envelope| <= eps",
        rate="O(eps^-4)",
        reference="Ma, Lin & Yang 2019, Remark 1; Davis & Drusvyatskiy 2019",
    )
    claim: ClassVar[Claim] = Claim()

    step_size: StepRule | None = None
    slack: float = 0.0
    steps: int | None = None

    def __post_init__(self) -> None:
        if self.step_size is not None:
            check_rule("FeasibilityPhase", "step_size", self.step_size)
        _check.non_negative("FeasibilityPhase", "slack", self.slack)
        if self.steps is not None:
            _check.count("FeasibilityPhase", "steps", self.steps, least=1)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        excess = problem.at(x0).excess
        return State(x=x0, best=x0, excess=excess, drawn=x0, weight=0.0, slope=0.0)

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        batch = problem.sample(rng)
        point = batch.at(state.x)
        best, excess = state.best, state.excess
        if point.excess < excess:
            best, excess = state.x, point.excess
            if batch is not problem and excess <= self.slack:  # a mini-batch proves nothing
                excess = problem.at(best).excess
        g = point.gradient(point.worst)  # 1
        slope = max(state.slope, norm(g))
        rule = self.step_size or InverseSqrt(1.0 / max(slope, TINY) if slope > 0 else 0.0)
        a = rule(t, point.excess, g)
        x = problem.domain.project(state.x - a * g)  # 2
        weight = state.weight + a
        drawn = state.x if rng.random() * weight <= a else state.drawn
        return State(x, best, excess, drawn, weight, slope, state.t + 1)

    def output(self, state: State) -> tuple[Array, None]:
        """Return the iterate with the least g."""
        return state.best, None

    def verdict(self, state: State) -> Status | None:
        """Stop at the first feasible iterate, or when an own budget is used up."""
        if state.excess <= self.slack:
            return Status.FEASIBLE
        return Status.MAX_STEPS if self.steps is not None and state.t >= self.steps else None
