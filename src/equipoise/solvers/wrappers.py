"""Solvers around solvers: keep the best output, average the outputs, start again from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise.certificate import certify
from equipoise.problem import Problem
from equipoise.solvers.solver import Guarantee, Need, Solver, State
from equipoise.status import Status


class Wrapper(Solver[State]):
    """A solver that leaves the steps to another one; guarantee and needs are that one's."""

    solver: Solver

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """What theory promises of the solver inside."""
        return self.solver.guarantee

    @property
    def needs(self) -> tuple[Need, ...]:  # type: ignore[override]
        """What the solver inside needs."""
        return self.solver.needs

    def _check_solver(self) -> None:
        if not isinstance(self.solver, Solver):
            _check.fail(type(self).__name__, "solver", "must be a Solver", self.solver)


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
            certificate = certify(problem, x, multipliers)
            if certificate.residual < least:
                best, least = (x, certificate.multipliers), certificate.residual
        return Best(inner, *best, least)

    def output(self, state: Best) -> tuple[Array, np.ndarray | None]:
        """Return the best output examined; before the first examination, the solver's own."""
        if math.isinf(state.residual) or self.verdict(state) is Status.FEASIBLE:
            return self.solver.output(state.inner)
        return state.x, state.multipliers

    def verdict(self, state: Best) -> Status | None:
        """Stop where the solver does."""
        return self.solver.verdict(state.inner)


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

    def verdict(self, state: Means) -> Status | None:
        """Stop where the solver does."""
        return self.solver.verdict(state.inner)


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

    def verdict(self, state: Round) -> Status | None:
        """Stop where the solver does."""
        return self.solver.verdict(state.inner)
