"""What all two-loop methods share: make a subproblem, let an inner solver step on it, take in its answer."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, final

import numpy as np

from equipoise._array import Array
from equipoise._problem import Problem
from equipoise._status import Status
from equipoise.solvers._solver import Solver


class Iterate(Protocol):
    """An outer state has an iterate."""

    @property
    def x(self) -> Array:
        """The iterate, of shape (d,)."""


Outer = TypeVar("Outer", bound=Iterate)


@dataclass(frozen=True)
class StagedState(Generic[Outer]):
    """An outer state, and an inner run in progress."""

    outer: Outer  # the outer method's own state
    inner: Any  # the inner solver's state on the current subproblem
    k: int  # inner steps taken on it
    stage: int  # subproblems finished


class Staged(Solver[StagedState[Outer]], Generic[Outer]):
    """A method that solves one subproblem after another. One `step` here is one step of the inner solver.

    So progress, time limits and checkpoints work inside long inner loops too. The inner solver ends
    a stage by its own `verdict`, which must come in the end (by a rule, or by its step budget). Subproblem
    and inner solver are rebuilt from the outer state, so that a state is all there is to store.
    """

    @abstractmethod
    def begin(self, problem: Problem, x0: Array) -> Outer:
        """Return the outer state before the first stage."""

    @abstractmethod
    def subproblem(self, problem: Problem, outer: Outer) -> Problem:
        """Return this stage's subproblem."""

    @abstractmethod
    def inner(self, problem: Problem, outer: Outer) -> Solver:
        """Return the inner solver, set up for this stage."""

    @abstractmethod
    def absorb(
        self, problem: Problem, outer: Outer, solver: Solver, inner: Any, rng: np.random.Generator
    ) -> Outer:
        """Return the outer state after the inner solver ended in state `inner`."""

    @abstractmethod
    def answer(self, outer: Outer) -> tuple[Array, np.ndarray | None]:
        """Return the outer method's output."""

    def inner_start(self, outer: Outer) -> Array:
        """Return where the inner solver starts: at the last iterate, unless a method knows better."""
        return outer.x

    def finished(self, outer: Outer) -> Status | None:
        """Return a status once the outer method's own rule says to stop."""
        return None

    @final
    def init(self, problem: Problem, x0: Array) -> StagedState[Outer]:
        """Return the state before the first step."""
        return self._enter(problem, self.begin(problem, x0), 0)

    @final
    def step(
        self, problem: Problem, state: StagedState[Outer], t: int, rng: np.random.Generator
    ) -> StagedState[Outer]:
        """Take one inner step; at the end of a stage, absorb it and enter the next."""
        subproblem = self.subproblem(problem, state.outer)
        solver = self.inner(problem, state.outer)
        inner = solver.step(subproblem, state.inner, state.k, rng)
        if solver.verdict(inner) is None:
            return StagedState(state.outer, inner, state.k + 1, state.stage)
        outer = self.absorb(problem, state.outer, solver, inner, rng)
        return self._enter(problem, outer, state.stage + 1)

    @final
    def output(self, state: StagedState[Outer]) -> tuple[Array, np.ndarray | None]:
        """Return the outer method's output."""
        return self.answer(state.outer)

    @final
    def verdict(self, state: StagedState[Outer]) -> Status | None:
        """Return the outer method's verdict; never in the middle of a stage."""
        return self.finished(state.outer) if state.k == 0 else None

    def _enter(self, problem: Problem, outer: Outer, stage: int) -> StagedState[Outer]:
        solver = self.inner(problem, outer)
        inner = solver.init(self.subproblem(problem, outer), self.inner_start(outer))
        return StagedState(outer, inner, 0, stage)
