"""One method, then another: for problems of which too little is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Problem
from equipoise._status import Status
from equipoise.solvers._parts.warm_start import FinishedPart
from equipoise.solvers._solver import SMOOTH, Finished, Guarantee, Solver


@dataclass(frozen=True)
class State:
    """Which method is at work, and its state."""

    second: bool  # whether the second method has taken over
    inner: Any  # the state of the method at work
    k: int  # its steps so far


@dataclass(frozen=True)
class Sequence(Solver[State]):
    r"""Run the first method; where it gets stuck, let the second go on from its output.

    1. step the method at work
    2. if the first says STALLED, or has taken `steps` steps: start the second at its output. A second
       method for kinks is not started where the first has seen none: it would get no further

    Output and verdict: those of the method at work.

    Parameters
    ----------
    first, second : Solver
        Typically a fast one that needs smooth functions, and one that does not.
    steps : int
        Steps of the first method at the most.
    """

    name: ClassVar[str] = "sequence"

    first: Solver
    second: Solver
    steps: int = 200

    def __post_init__(self) -> None:
        for parameter in ("first", "second"):
            if not isinstance(getattr(self, parameter), Solver):
                _check.fail("Sequence", parameter, "must be a Solver", getattr(self, parameter))
        _check.count("Sequence", "steps", self.steps, least=1)

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """What theory promises of the second method."""
        return self.second.guarantee

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether the first method's multipliers belong to its output at every step."""
        return self.first.exact

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        return State(False, self.first.init(problem, x0), 0)

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        solver = self.second if state.second else self.first
        inner = solver.step(problem, state.inner, state.k, rng)  # 1
        if not state.second and self._hands_over(inner, state.k + 1):  # 2
            return State(True, self.second.init(problem, self.first.output(inner)[0]), 0)
        return State(state.second, inner, state.k + 1)

    def _hands_over(self, inner: Any, k: int) -> bool:
        """Whether the second method is to go on after `k` steps of the first."""
        if k >= self.steps:
            return True
        for_kinks = SMOOTH not in self.second.needs and SMOOTH in self.first.needs
        helps = not (for_kinks and self.first.looks_smooth(inner))
        return self.first.verdict(inner) is Status.STALLED and helps

    def output(self, state: State) -> tuple[Array, np.ndarray | None]:
        """Return the output of the method at work."""
        return (self.second if state.second else self.first).output(state.inner)

    def verdict(self, state: State) -> Status | None:
        """Return the verdict of the method at work."""
        return (self.second if state.second else self.first).verdict(state.inner)

    def warm_started(self, result: Finished) -> Self:
        """Return the sequence with both methods warm-started; the last state belongs to one of them."""
        last = result.state if isinstance(result.state, State) else State(False, None, 0)
        lam, success = result.multipliers, result.success
        in_first = FinishedPart(lam, None if last.second else last.inner, success)
        in_second = FinishedPart(lam, last.inner if last.second else None, success)
        first, second = self.first.warm_started(in_first), self.second.warm_started(in_second)
        return replace(self, first=first, second=second)
