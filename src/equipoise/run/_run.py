"""One run of a solver: everything that changes from step to step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from equipoise._array import Array
from equipoise._problem import NonFiniteError, Problem
from equipoise._status import Status
from equipoise.certificate import Certificate
from equipoise.run._budget import Budget
from equipoise.run._checkpoint import Checkpoint
from equipoise.run._escape import Departures
from equipoise.run._examinations import Examinations
from equipoise.run._iteration import Iteration
from equipoise.run._leaving import Leaving
from equipoise.run._position import Position
from equipoise.run._stopwatch import Stopwatch
from equipoise.run._store import RunStore, StoredRun
from equipoise.run._watched import Counter, WatchedProblem
from equipoise.solvers import Solver


class Run:
    """One run: its state is what a checkpoint holds."""

    def __init__(
        self,
        problem: Problem,
        solver: Solver,
        x0: Array,
        seed: int,
        tol: float,
        density: int,
        checkpoint: Checkpoint | None,
        budget: Budget,
        second_order: bool = True,
        diagnose: bool = True,
    ) -> None:
        self.problem, self.method, self.tol = problem, solver, tol
        self.budget, self.watch, self.diagnose = budget, Stopwatch(), diagnose
        self.error: BaseException | None = None
        self.detail = ""
        self.rng = np.random.default_rng(seed)
        self.store = None
        if checkpoint is not None:
            self.store = RunStore(checkpoint, problem, solver, x0, seed, density)
        stored = None if self.store is None else self.store.load()
        self.counter = Counter() if stored is None else stored.counter
        self.watched = WatchedProblem(problem, self.counter)
        self.examined = Examinations(problem, self.watched, tol, density, budget)
        self.leaving = Leaving(problem, self.watched, tol) if second_order else None
        self.resumed_at = -1 if stored is None else stored.t
        if stored is None:
            try:
                state = solver.init(self.watched, x0)
            except NonFiniteError as error:
                rule = "solve: `x0` must be a point where all is finite."
                raise ValueError(f"{rule} {error}") from None
            self.at = self.position(0, state, solver.output(state), solver, Departures())
        else:
            self.watch = Stopwatch(stored.seconds)
            self.rng.bit_generator.state = stored.rng
            self.watched.resume(stored.latest, stored.earlier, stored.pulled)
            restarted = stored.departures.restart(solver)
            place = (stored.t, stored.state, restarted.output(stored.state))
            self.at = self.position(*place, restarted, stored.departures)
            self.examined.resume(stored.t, stored.trace, stored.best, stored.due)

    @property
    def t(self) -> int:
        """Steps taken."""
        return self.at.t

    @property
    def state(self) -> Any:
        """The solver's state."""
        return self.at.state

    @property
    def solver(self) -> Solver:
        """The method, as it is after a restart."""
        return self.at.solver

    @property
    def output(self) -> tuple[Array, np.ndarray | None]:
        """What the method would return now."""
        return self.solver.output(self.state)

    def here(self) -> Certificate:
        """Return the certificate of the method's present output."""
        latest = self.examined.latest
        known = latest is not None and self.examined.last_step == self.t
        return latest if known else self.examine()  # type: ignore[return-value]

    def examine(self, quick: bool = False) -> Certificate:
        """Certify the method's present output."""
        return self.examined.take(self.t, self.output, self.watch.seconds, quick)

    def call(self) -> Status | None:
        """Let the callback look at the run, which may end it."""
        if self.budget.callback is None:
            return None
        certificate, step = self.examined.latest or self.examined.best, self.budget.steps + self.t
        iteration = Iteration(
            step,
            self.solver,
            self.watch.seconds,
            self.state,
            certificate,  # type: ignore[arg-type]
            self.budget.stage,
        )
        with self.watch.paused():
            status = self.budget.call(iteration)
        if status is Status.CALLBACK_FAILED:
            self.error = error = self.budget.error
            self.detail = f"{type(error).__name__}: {error}"
        return status

    def position(
        self,
        t: int,
        state: Any,
        previous: tuple[Array, Any],
        solver: Solver,
        departures: Departures,
    ) -> Position:
        """Return the place after step `t`, with all that a checkpoint needs of it."""
        place = (t, state, previous, solver, departures)
        if self.store is None:
            return Position(*place, {}, self.counter, None, [], [])
        rng, latest = self.rng.bit_generator.state, self.watched.latest
        earlier = [point.x for point in self.watched.earlier]
        pulled = self.watched.pulled
        return Position(*place, rng, replace(self.counter), latest, earlier, pulled)

    def save(self) -> None:
        """Write the checkpoint, if there is one."""
        if self.store is None:
            return
        at, examined, identity = self.at, self.examined, self.store.identity
        rest = (examined.trace, examined.best, examined.due, self.watch.seconds, at.departures)
        place = (at.t, at.state, at.rng, at.counter, at.latest, at.earlier, at.pulled)
        self.store.save(StoredRun(identity, *place, *rest))
