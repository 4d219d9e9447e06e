"""Where the multipliers start: at 0, where the user says, or where an earlier run ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from equipoise import _check
from equipoise._problem import Problem
from equipoise.solvers._solver import Finished, Solver


@dataclass(frozen=True, eq=False)
class Guess:
    """What an earlier run on a similar problem has found; ignored by a problem that it does not fit."""

    multipliers: np.ndarray  # (m,)
    memory: Any = field(default=None, repr=False)  # what else the method can use again

    def fits(self, problem: Problem) -> bool:
        """Whether there is one finite multiplier for each constraint."""
        size = self.multipliers.size
        return size == problem.n_constraints and bool(np.isfinite(self.multipliers).all())


@dataclass(frozen=True)
class FinishedPart:
    """The part of a finished run that belongs to a method inside another one."""

    multipliers: np.ndarray
    state: Any
    success: bool


Start = Sequence[float] | np.ndarray | Guess
AnySolver = TypeVar("AnySolver", bound=Solver)


def start_from(solver: AnySolver, result: Finished, memory: Any = None) -> AnySolver:
    """Return a method with a parameter `multipliers` that starts from those of a successful run."""
    if not result.success:
        return solver
    return replace(solver, multipliers=Guess(result.multipliers, memory))  # type: ignore[type-var]


def check_start(owner: str, given: Start | None) -> None:
    """Raise unless the multipliers that a user gives are finite numbers of at least 0."""
    if given is None or isinstance(given, Guess):
        return
    lam = _check.vector(owner, "multipliers", given)
    if (lam < 0).any():
        _check.fail(owner, "multipliers", "must be non-negative", given)


def known_multipliers(owner: str, problem: Problem, given: Start | None) -> np.ndarray | None:
    """Return the multipliers to start from, None where there are none; those that a user gives must fit."""
    if isinstance(given, Guess):
        return np.maximum(given.multipliers, 0.0) if given.fits(problem) else None
    if given is None:
        return None
    return _check.vector(owner, "multipliers", given, problem.n_constraints)


def first_multipliers(owner: str, problem: Problem, given: Start | None) -> np.ndarray:
    """Return the multipliers to start from, 0 where there are none."""
    known = known_multipliers(owner, problem, given)
    return np.zeros(problem.n_constraints) if known is None else known
