"""What solvers around solvers share."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from equipoise import _check
from equipoise._status import Status
from equipoise.solvers._parts.warm_start import FinishedPart
from equipoise.solvers._solver import Finished, Guarantee, Need, Solver, State


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

    def verdict(self, state: State) -> Status | None:
        """Stop where the solver does."""
        return self.solver.verdict(state.inner)  # type: ignore[attr-defined]

    def warm_started(self, result: Finished) -> Self:
        """Return this wrapper around the solver inside, warm-started."""
        inner = getattr(result.state, "inner", None)
        part = FinishedPart(result.multipliers, inner, result.success)
        return replace(self, solver=self.solver.warm_started(part))  # type: ignore[type-var]

    def _check_solver(self) -> None:
        if not isinstance(self.solver, Solver):
            _check.fail(type(self).__name__, "solver", "must be a Solver", self.solver)
