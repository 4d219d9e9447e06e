"""A solver that keeps the best of its outputs, by certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Problem
from equipoise._status import Status
from equipoise.certificate import certify
from equipoise.solvers._solver import Solver
from equipoise.solvers._wrappers.wrapper import Wrapper


@dataclass(frozen=True)
class Best:
    """The state inside, and the best output examined."""

    inner: Any
    x: Array  # (d,)
    multipliers: np.ndarray | None
    residual: float  # infinite before the first examination


@dataclass(frozen=True)
class BestCertified(Wrapper[Best]):
    """Examine the output every so often, and return the best one examined.

    1. one step of the solver
    2. every `every` steps, and when the solver stops: certify its output, with its own multipliers and
       with fitted ones; keep it if its residual is the least so far

    Output: the output with the least certified residual. Where the solver has stopped at a feasible
    point, as asked, that point: its objective was never looked at.

    Parameters
    ----------
    solver : Solver
    every : int
        An examination costs about one step, and more with many active constraints.
    """

    name: ClassVar[str] = "best_certified"

    solver: Solver
    every: int = 20

    def __post_init__(self) -> None:
        self._check_solver()
        _check.count("BestCertified", "every", self.every, least=1)

    def init(self, problem: Problem, x0: Array) -> Best:
        """Return the state before the first step."""
        inner = self.solver.init(problem, x0)
        return Best(inner, *self.solver.output(inner), math.inf)

    def step(self, problem: Problem, state: Best, t: int, rng: np.random.Generator) -> Best:
        """Return the state after step `t`."""
        inner = self.solver.step(problem, state.inner, t, rng)  # 1
        if (t + 1) % self.every and self.solver.verdict(inner) is None:
            return Best(inner, state.x, state.multipliers, state.residual)
        x, lam = self.solver.output(inner)  # 2
        best, least = (state.x, state.multipliers), state.residual
        for multipliers in (None,) if lam is None else (np.maximum(lam, 0.0), None):
            certificate = certify(problem, x, multipliers, second_order=False)
            if certificate.residual < least:
                best, least = (x, certificate.multipliers), certificate.residual
        return Best(inner, *best, least)

    def output(self, state: Best) -> tuple[Array, np.ndarray | None]:
        """Return the best output examined; before the first examination, the solver's own."""
        if math.isinf(state.residual) or self.verdict(state) is Status.FEASIBLE:
            return self.solver.output(state.inner)
        return state.x, state.multipliers
