"""What a method is: a frozen dataclass of few hyperparameters that takes steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Problem
from equipoise._status import Status

State = TypeVar("State")
Make = TypeVar("Make", bound=Callable[..., Any])


@dataclass(frozen=True)
class Guarantee:
    """What theory promises: a row of the guarantee table."""

    problems: str  # the class of problems
    quantity: str  # what is driven to eps
    rate: str  # how many (sub)gradients that takes
    reference: str  # who proved it, as listed in docs/references.md


@dataclass(frozen=True)
class Claim:
    """What a method achieves with all its defaults; the contract tests hold it to that.

    From any start on the reference problems named, it reaches the KKT residual within the steps.
    """

    problems: tuple[str, ...] = ()  # names in `equipoise.problems.REFERENCES`
    residual: float = 0.0
    steps: int = 0


@dataclass(frozen=True)
class Need:
    """Something a method needs of a problem; where the facts are unknown, the problem is accepted."""

    sentence: str
    missing: Callable[[Problem, Array], bool]


SMOOTH = Need("differentiable functions", lambda problem, _: problem.facts.smooth is False)
CONVEX_CONSTRAINTS = Need(
    "convex constraints", lambda problem, _: problem.facts.convex_constraints is False
)
CONVEX = Need("a convex problem", lambda problem, _: problem.facts.convex is False)
DETERMINISTIC = Need("exact values, not mini-batches", lambda problem, _: problem.stochastic)
SADDLE = Need("a min-max form (`Problem.saddle`)", lambda problem, _: problem.saddle() is None)


class Finished(Protocol):
    """What a warm start looks at: the result of `solve`, or whatever has these three."""

    @property
    def multipliers(self) -> np.ndarray:
        """Of the constraints, of shape (m,)."""

    @property
    def state(self) -> Any:
        """The last state of the method that ran."""

    @property
    def success(self) -> bool:
        """Whether the run reached its goal; what a failed run has found is not used."""


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
    claim: ClassVar[Claim]  # of registered methods
    exact: ClassVar[bool] = False  # whether its multipliers belong to its output at every step

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

    def looks_smooth(self, state: State) -> bool:
        """Return whether all that the method has seen is what smooth functions show; False if unknown."""
        return False

    def warm_started(self, result: Finished) -> Self:
        """Return this method with what a successful run on a similar problem can give it to start from.

        The point to start from is given to `init` as ever. On a problem with another number of
        constraints the method then runs as if it had not been warm-started.
        """
        return self


def preset(claim: Claim) -> Callable[[Make], Make]:
    """Mark a function that sets up a method as a registered method of its own, under its own name."""

    def mark(make: Make) -> Make:
        vars(make).update(name=make.__name__, claim=claim)
        return make

    return mark


def check_needs(solver: Solver, problem: Problem, x0: Array) -> None:
    """Raise `UnsuitableSolverError` when the problem lacks what the method needs."""
    _check.kind("check_needs", "solver", solver, Solver)
    _check.kind("check_needs", "problem", problem, Problem)
    x0 = _check.point("check_needs", "x0", x0, problem.dim)
    missing = [need.sentence for need in solver.needs if need.missing(problem, x0)]
    if missing:
        raise UnsuitableSolverError(
            f"{type(solver).__name__} needs {' and '.join(missing)}, and the facts of this "
            f"{type(problem).__name__} say otherwise. Choose another solver, or correct `facts`."
        )
