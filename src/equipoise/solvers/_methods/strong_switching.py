"""Switching subgradient method for strongly convex problems (Ma, Lin & Yang 2019, Algorithm 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Problem
from equipoise._status import Status
from equipoise.solvers._oracle import Oracle
from equipoise.solvers._solver import CONVEX, Claim, Guarantee, Need

__all__ = ["StrongSwitching"]


@dataclass(frozen=True)
class State:
    """The iterate, the mean that the theory returns, and what is returned where there is none."""

    z: Array  # (d,) iterate
    mean: Array  # (d,) (k+1)-weighted mean of the nearly feasible iterates
    weight: float  # sum of k+1 over them
    best: Array  # (d,) iterate with the least G
    excess: float  # G(best)
    k: int  # steps taken

    @property
    def failed(self) -> bool:
        """Whether no iterate was nearly feasible: the output then keeps no promise."""
        return self.weight == 0.0


@dataclass(frozen=True, kw_only=True)
class StrongSwitching(Oracle[State]):
    r"""Switch as for any problem, with the step sizes of strong convexity, and average.

    For ``min F(z)  s.t.  G(z) = max_i F_i(z) <= 0``, all functions mu-strongly convex; k = 0, 1, ...

    1. d <- F'(z) and add k to I if G(z) <= slack, else d <- G'(z)
    2. z <- P_X(z - gamma_k d),   gamma_k = 2 / (mu (k + 2))

    Output: the mean of the z_k with k in I, weighted by k + 1. Where I is empty (only possible with
    fewer steps than `theoretical_steps`): the iterate with the least G, and ``state.failed`` is True.

    Guarantee: ``F - F* <= slack`` and ``G <= slack`` after `theoretical_steps`, O(1 / slack). It is
    for exact values; with mini-batches the method runs, but without a proof.

    Parameters
    ----------
    steps : int, optional
        K, by default ``1 / slack`` as in the experiments of Ma, Lin & Yang 2019.
    mu : float
        A strong-convexity modulus of all functions. Too small costs time, too large the guarantee.
    slack : float
        How much violation counts as nearly feasible: the accuracy aimed at, ``eps_hat^2``.

    References
    ----------
    Ma, Lin & Yang 2019 and 2020, Algorithm 2.
    """

    name: ClassVar[str] = "strong_switching"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="strongly convex, non-smooth",
        quantity="objective gap and violation <= eps",
        rate="O(eps^-1)",
        reference="Ma, Lin & Yang 2019, Algorithm 2 and Theorem 2",
    )
    needs: ClassVar[tuple[Need, ...]] = (CONVEX,)
    claim: ClassVar[Claim] = Claim(("convex", "auc"), residual=1e-2, steps=10_000)

    steps: int | None = None
    mu: float = 1.0
    slack: float = 1e-4

    def __post_init__(self) -> None:
        if self.steps is not None:
            _check.count("StrongSwitching", "steps", self.steps, least=1)
        _check.positive("StrongSwitching", "mu", self.mu)
        _check.positive("StrongSwitching", "slack", self.slack)

    def tuned(self, *, mu: float, accuracy: float, multipliers: np.ndarray | None) -> Self:
        """Return this method set up for one subproblem; it uses no multipliers."""
        return replace(self, mu=mu, slack=accuracy)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        return State(z=x0, mean=x0, weight=0.0, best=x0, excess=math.inf, k=0)

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        z, mean, weight, k = state.z, state.mean, state.weight, state.k
        point = problem.sample(rng).at(z)
        if point.excess <= self.slack:  # 1
            weight += k + 1
            mean = mean + (k + 1) / weight * (z - mean)
            d = point.gradient(0)
        else:
            d = point.gradient(point.worst)
        gamma = 2 / (self.mu * (k + 2))
        after = problem.domain.project(z - gamma * d)  # 2
        better = point.excess < state.excess
        best, excess = (z, point.excess) if better else (state.best, state.excess)
        return State(after, mean, weight, best, excess, k + 1)

    def output(self, state: State) -> tuple[Array, None]:
        """Return the weighted mean over I, or the iterate with the least G where I is empty."""
        return (state.best if state.failed else state.mean), None

    def verdict(self, state: State) -> Status | None:
        """Stop after K steps."""
        K = math.ceil(1 / self.slack) if self.steps is None else self.steps
        return Status.MAX_STEPS if state.k >= K else None
