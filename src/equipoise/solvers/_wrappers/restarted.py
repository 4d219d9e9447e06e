"""A solver that starts again from its own output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Problem
from equipoise.solvers._solver import Solver
from equipoise.solvers._wrappers.wrapper import Wrapper


@dataclass(frozen=True)
class Round:
    """The state inside, and how far this round is."""

    inner: Any
    k: int  # steps taken in this round
    length: float  # of this round


@dataclass(frozen=True)
class Restarted(Wrapper[Round]):
    """Start the solver again from its output, with its step count at 0.

    1. one step of the solver, at its own count k
    2. after `every` steps: start it again from its output; `every` <- growth * `every`

    Output: the solver's; after a restart, the point it started from.

    Parameters
    ----------
    solver : Solver
    every : int
        Length of the first round.
    growth : float
        At least 1: how much longer each round is than the one before.
    """

    name: ClassVar[str] = "restarted"

    solver: Solver
    every: int = 100
    growth: float = 2.0

    def __post_init__(self) -> None:
        self._check_solver()
        _check.count("Restarted", "every", self.every, least=1)
        if not _check.positive("Restarted", "growth", self.growth) >= 1:
            _check.fail("Restarted", "growth", "must be at least 1", self.growth)

    def init(self, problem: Problem, x0: Array) -> Round:
        """Return the state before the first step."""
        return Round(self.solver.init(problem, x0), 0, float(self.every))

    def step(self, problem: Problem, state: Round, t: int, rng: np.random.Generator) -> Round:
        """Return the state after step `t`."""
        inner, k = self.solver.step(problem, state.inner, state.k, rng), state.k + 1  # 1
        if k < state.length or self.solver.verdict(inner) is not None:
            return Round(inner, k, state.length)
        x, _ = self.solver.output(inner)  # 2
        return Round(self.solver.init(problem, x), 0, state.length * self.growth)

    def output(self, state: Round) -> tuple[Array, np.ndarray | None]:
        """Return the solver's output."""
        return self.solver.output(state.inner)
