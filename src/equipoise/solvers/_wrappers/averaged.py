"""A solver that averages its later outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from equipoise._array import Array
from equipoise._problem import Problem
from equipoise.solvers._solver import Solver
from equipoise.solvers._wrappers.wrapper import Wrapper


@dataclass(frozen=True)
class Mean:
    """The average of some outputs."""

    x: Array  # (d,)
    multipliers: np.ndarray | None
    n: int  # how many they are

    def joined(self, other: Mean) -> Mean:
        """Return the average of both lots together."""
        if self.n == 0 or other.n == 0:
            return other if self.n == 0 else self
        a = other.n / (self.n + other.n)
        lam, more = self.multipliers, other.multipliers
        if lam is not None and more is not None:
            more = lam + a * (more - lam)
        return Mean(self.x + a * (other.x - self.x), more, self.n + other.n)


@dataclass(frozen=True)
class Means:
    """The state inside, and the averages of the last two epochs."""

    inner: Any
    earlier: Mean
    current: Mean


@dataclass(frozen=True)
class Averaged(Wrapper[Means]):
    """Average the later outputs (suffix averaging, without knowing the end).

    1. one step of the solver
    2. an epoch begins at steps 1, 2, 4, 8, ..: only the epoch before is remembered
    3. the average of this epoch takes in the solver's output

    Output: the average over the last two epochs, that is over the last half to three quarters of the
    run; where the solver has stopped, its own output: its verdict is about that. Early outputs are
    forgotten altogether, so an average of points on the boundary of the domain lies on it.

    Guarantee: for convex functions an average is as good as the outputs on average; of stochastic
    subgradients it has the optimal rate, which the last iterate misses by a logarithm (Rakhlin,
    Shamir & Sridharan 2012).

    Parameters
    ----------
    solver : Solver
    """

    name: ClassVar[str] = "averaged"

    solver: Solver

    def __post_init__(self) -> None:
        self._check_solver()

    def init(self, problem: Problem, x0: Array) -> Means:
        """Return the state before the first step."""
        inner = self.solver.init(problem, x0)
        nothing = Mean(*self.solver.output(inner), 0)
        return Means(inner, nothing, nothing)

    def step(self, problem: Problem, state: Means, t: int, rng: np.random.Generator) -> Means:
        """Return the state after step `t`."""
        inner = self.solver.step(problem, state.inner, t, rng)  # 1
        output = Mean(*self.solver.output(inner), 1)
        if (t + 1) & t == 0:  # 2: step t + 1 is a power of 2
            return Means(inner, state.current, output)
        return Means(inner, state.earlier, state.current.joined(output))  # 3

    def output(self, state: Means) -> tuple[Array, np.ndarray | None]:
        """Return the averages."""
        if self.verdict(state) is not None:
            return self.solver.output(state.inner)
        mean = state.earlier.joined(state.current)
        return mean.x, mean.multipliers
