"""What a method is: a frozen dataclass of few hyperparameters that takes steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np

from equipoise._array import Array
from equipoise.problem import Problem
from equipoise.status import Status

State = TypeVar("State")


@dataclass(frozen=True)
class Guarantee:
    """What theory promises: a row of the guarantee table."""

    problems: str  # the class of problems
    quantity: str  # what is driven to eps
    rate: str  # (sub)gradients until then
    reference: str


@dataclass(frozen=True)
class Need:
    """Something a method needs of a problem; unknown facts get the benefit of the doubt."""

    sentence: str
    missing: Callable[[Problem, Array], bool]


SMOOTH = Need("differentiable functions", lambda problem, _: problem.facts.smooth is False)
CONVEX_CONSTRAINTS = Need(
    "convex constraints", lambda problem, _: problem.facts.convex_constraints is False
)
CONVEX = Need("a convex problem", lambda problem, _: problem.facts.convex is False)
DETERMINISTIC = Need("exact values, not mini-batches", lambda problem, _: problem.facts.stochastic)


class UnsuitableSolverError(ValueError):
    """The problem lacks something the method needs."""


class Solver(ABC, Generic[State]):
    """A method: `init`, `step`, `output`. It owns no loop, prints nothing, counts nothing.

    A concrete solver is a frozen dataclass, its state too: a run can then be stored, resumed
    and compared step by step. All randomness comes from the `rng` given to `step`.
    """

    name: ClassVar[str]
    guarantee: ClassVar[Guarantee]
    needs: ClassVar[tuple[Need, ...]] = ()
    exact: ClassVar[bool] = False  # its multipliers are fitted to its output at every step

    @abstractmethod
    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""

    @abstractmethod
    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t` (0, 1, ...)."""

    @abstractmethod
    def output(self, state: State) -> tuple[Array, np.ndarray | None]:
        """Return what the theory returns: a point, and multipliers where the method has them."""

    def verdict(self, state: State) -> Status | None:
        """Return a status once the method's own rule says to stop."""
        return None


def check_needs(solver: Solver, problem: Problem, x0: Array) -> None:
    """Raise `UnsuitableSolverError` when the problem lacks what the method needs."""
    missing = [need.sentence for need in solver.needs if need.missing(problem, x0)]
    if missing:
        raise UnsuitableSolverError(
            f"{type(solver).__name__} needs {' and '.join(missing)}, and the facts of this "
            f"{type(problem).__name__} say otherwise. Choose another solver, or correct `facts`."
        )
