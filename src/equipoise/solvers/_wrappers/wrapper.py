"""What solvers around solvers share."""

from __future__ import annotations

from equipoise import _check
from equipoise.solvers._solver import Guarantee, Need, Solver, State
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

    def verdict(self, state: State) -> Status | None:
        """Stop where the solver does."""
        return self.solver.verdict(state.inner)  # type: ignore[attr-defined]

    def _check_solver(self) -> None:
        if not isinstance(self.solver, Solver):
            _check.fail(type(self).__name__, "solver", "must be a Solver", self.solver)
