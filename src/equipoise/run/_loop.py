"""One run of a solver: the loop, and everything that changes from step to step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise._array import Array, all_finite
from equipoise._problem import NonFiniteError, Problem
from equipoise._status import Status
from equipoise.certificate import Certificate, examine
from equipoise.run._budget import Budget
from equipoise.run._checkpoint import Checkpoint
from equipoise.run._escape import MAX_DEPARTURES, Departures
from equipoise.run._iteration import Iteration
from equipoise.run._leaving import LEAVABLE, Leaving
from equipoise.run._position import Position
from equipoise.run._result import Result
from equipoise.run._stopwatch import Stopwatch
from equipoise.run._store import RunStore, StoredRun
from equipoise.run._trace import Trace
from equipoise.run._verdict import Verdict, examine_both, judge
from equipoise.run._watched import Counter, WatchedProblem
from equipoise.solvers import Solver

WRONG_DATA = (
    TypeError,
    AttributeError,
    LookupError,
    ValueError,
)  # what a step raises of wrong data


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
    ) -> None:
        self.problem, self.method, self.tol, self.density = problem, solver, tol, density
        self.budget = budget
        self.trace, self.watch, self.due = Trace(), Stopwatch(), 0
        self.best: Certificate | None = None
        self.latest: Certificate | None = None
        self.error: BaseException | None = None
        self.detail = ""
        self.rng = np.random.default_rng(seed)
        self.store = None
        if checkpoint is not None:
            self.store = RunStore(checkpoint, problem, solver, x0, seed, density)
        stored = None if self.store is None else self.store.load()
        self.counter = Counter() if stored is None else stored.counter
        self.watched = WatchedProblem(problem, self.counter)
        self.leaving = Leaving(problem, self.watched, tol) if second_order else None
        self.resumed_at = -1 if stored is None else stored.t
        if stored is None:
            try:
                state = solver.init(self.watched, x0)
            except NonFiniteError as error:
                rule = "solve: `x0` must be a point where all is finite."
                raise ValueError(f"{rule} {error}") from None
            self.at = self._position(0, state, solver.output(state), solver, Departures())
        else:
            self.trace, self.best, self.due = stored.trace, stored.best, stored.due
            self.watch = Stopwatch(stored.seconds)
            self.rng.bit_generator.state = stored.rng
            self.watched.resume(stored.latest)
            restarted = stored.departures.restart(solver)
            place = (stored.t, stored.state, restarted.output(stored.state))
            self.at = self._position(*place, restarted, stored.departures)
            if self.due == self._next_due():  # it was examined here: the reason to stop may be gone
                self.due = self.t

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

    def go(self, max_steps: int, max_seconds: float | None) -> Result:
        """Take steps until there is a reason to stop."""
        try:
            return self._go(max_steps, max_seconds)
        except WRONG_DATA as error:
            if self.store is None or self.t != self.resumed_at:
                raise
            raise self.store.refused(error) from error

    def _go(self, max_steps: int, max_seconds: float | None) -> Result:
        self.watch.start()
        try:
            status = self._take_steps(max_steps, max_seconds)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
            self.budget.stop(status)
        except (NonFiniteError, OverflowError) as error:
            status, self.detail = Status.NON_FINITE, str(error)
        except BaseException as error:
            self.watch.read()
            self._save()
            error.add_note(f"(raised in step {self.t} of {type(self.solver).__name__})")
            raise
        try:
            self.watch.read()
            result = self._finish(status)
            self._save()
        except KeyboardInterrupt:  # for a second time, or at the very end
            self.budget.stop(Status.INTERRUPTED)
            if self.best is None:
                raise
            result = self._result(Verdict(Status.INTERRUPTED), self.best)
        self.watched.forget()
        self.budget.ended(self.t, self.counter)
        return result

    def _take_steps(self, max_steps: int, max_seconds: float | None) -> Status:
        """Take steps, and return why no more are taken."""
        while True:
            status = self._reason(max_steps, max_seconds)
            if status is not None:
                if self._leave(status, max_steps):
                    continue
                return status
            solver, past = self.solver, self.at.departures
            state = solver.step(self.watched, self.state, self.t - past.began, self.rng)
            place = (self.t + 1, state, solver.output(self.state))
            self.at = self._position(*place, solver, past)
            if self.budget.callback is not None:
                status = self._call(self.budget.callback)
                if status is not None:
                    return status
            if self.store is not None and self.store.timer.due():
                with self.watch.paused():
                    self._save()
            self.budget.stepped(self.t, self.latest)

    def _reason(self, max_steps: int, max_seconds: float | None) -> Status | None:
        """Examine if it is time to, and say why to stop, if there is a reason."""
        if self.t >= self.due:
            with self.watch.paused():
                certificate = self._examine(quick=self.solver.exact)
            self.due = self._next_due()
            if self.tol > 0 and certificate.residual <= self.tol:
                return Status.CONVERGED
            if self.leaving is not None and self.t == 0 and self.leaving.starts_stuck(certificate):
                self._leave(Status.STALLED, max_steps)
        verdict = self.solver.verdict(self.state)
        if verdict is not None:
            return verdict
        if self.t >= max_steps:
            return Status.MAX_STEPS
        if (wish := self.budget.wish) is not None:
            return wish
        if max_seconds is not None and self.watch.read() >= max_seconds:
            return Status.MAX_SECONDS
        return None

    def _next_due(self) -> int:
        """Return the step of the next examination after one at the present step."""
        return max(self.t + 1, int(np.ceil((self.t + 1) * 10 ** (1 / self.density))) - 1)

    def _leave(self, status: Status, max_steps: int) -> bool:
        """Start again from a better point, if the method stopped at one that is no minimum."""
        if self.leaving is None or status not in LEAVABLE:
            return False
        past = self.at.departures
        with self.watch.paused():
            certificate = self.latest = self.leaving.curved(self._here())
        if past.count >= MAX_DEPARTURES or self.t >= max_steps:
            return False
        new = self.leaving.better_start(certificate)
        if new is None:
            return False
        departures = past.after(self.t, certificate, self.tol)
        solver = departures.restart(self.method)
        try:
            state = solver.init(self.watched, new)
        except NonFiniteError:
            return False
        self.at = self._position(self.t, state, solver.output(state), solver, departures)
        self.latest, self.best, self.due = None, None, self.t
        return True

    def _here(self) -> Certificate:
        """Return the certificate of the method's present output."""
        known = self.latest is not None and self.trace.rows[-1].step == self.t
        return self.latest if known else self._examine()  # type: ignore[return-value]

    def _examine(self, quick: bool = False) -> Certificate:
        """Certify the solver's output; remember the best so far."""
        certificate = self._certify(self.solver.output(self.state), quick)
        if self.best is None or certificate.residual < self.best.residual:
            self.best = certificate
        self.trace.add(self.t, certificate, self.counter, self.watch.seconds, self.budget.stage)
        self.budget.examined(self.t, certificate, self.counter)
        self.latest = certificate
        return certificate

    def _certify(self, output: tuple[Array, Any], quick: bool = False) -> Certificate:
        """Certify a solver's output; quickly with the solver's own multipliers."""
        x, multipliers = output
        if not all_finite(x):
            raise NonFiniteError("The method's output is not finite.")
        point = self.watched.free(x)  # examinations are not the solver's count
        if quick and multipliers is not None:
            return examine(self.problem, point, multipliers)
        return examine_both(self.problem, point, multipliers, self.tol)

    def _finish(self, status: Status) -> Result:
        """Certify the point to return, and settle the status by the certificate."""
        status, certificate = self._final(status)
        departures = self.at.departures
        certificate = departures.better(certificate, self.tol)
        if self.leaving is not None:
            certificate = self.leaving.second_look(certificate)
        least = min((row.violation for row in self.trace.rows), default=np.inf)
        verdict = judge(self.problem, status, certificate, self.tol, self.counter.values, least)
        if departures.count:
            self.detail += f" Points left that were no minima: {departures.count}."
        if status is Status.NON_FINITE:
            self.detail += f" The last finite point is returned (step {self.t})."
        return self._result(verdict.with_detail(self.detail), certificate)

    def _result(self, verdict: Verdict, certificate: Certificate) -> Result:
        return Result(
            x=certificate.x,
            certificate=certificate,
            verdict=verdict,
            nit=self.t,
            nfev=self.counter.values,
            njev=self.counter.gradients,
            nhev=self.counter.products,
            seconds=self.watch.seconds,
            trace=self.trace,
            state=self.state,
            tol=self.tol,
            error=self.error,
        )

    def _final(self, status: Status) -> tuple[Status, Certificate]:
        """Certify the point to return: the output; after trouble, the best there is."""
        last = self.trace.rows[-1].step if self.trace.rows else -1
        interrupted = status is Status.INTERRUPTED
        if self.latest is not None and last == self.t and not interrupted:
            exact = self.solver.exact and self.latest.residual > self.tol
            return status, self._certify(self.solver.output(self.state)) if exact else self.latest
        if status is not Status.NON_FINITE:
            try:
                certificate = self._examine()
                return status, (self.best or certificate) if interrupted else certificate
            except NonFiniteError as error:
                self.detail = f"{self.detail} {error}".strip()
                user = (Status.INTERRUPTED, Status.STOPPED, Status.CALLBACK_FAILED)
                status = status if status in user else Status.NON_FINITE
        for output in (lambda: self.solver.output(self.state), lambda: self.at.previous):
            try:
                return status, self._certify(output())
            except (NonFiniteError, ValueError):
                continue
        if self.best is None:
            raise ValueError(f"solve: `x0` must be a point where all is finite. {self.detail}")
        return status, self.best

    def _call(self, callback: Callable) -> Status | None:
        """Call the user's callback; an error ends the run but loses nothing."""
        certificate, step = self.latest or self.best, self.budget.steps + self.t
        iteration = Iteration(
            step,
            self.solver,
            self.watch.seconds,
            self.state,
            certificate,  # type: ignore[arg-type]
            self.budget.stage,
        )
        try:
            with self.watch.paused():
                callback(iteration)
        except StopIteration:
            self.budget.stop(Status.STOPPED)
            return Status.STOPPED
        except Exception as error:
            self.error = error
            self.detail = f"{type(error).__name__}: {error}"
            self.budget.stop(Status.CALLBACK_FAILED, error)
            return Status.CALLBACK_FAILED
        return None

    def _position(
        self,
        t: int,
        state: Any,
        previous: tuple[Array, Any],
        solver: Solver,
        departures: Departures,
    ) -> Position:
        place = (t, state, previous, solver, departures)
        if self.store is None:
            return Position(*place, {}, self.counter, None)
        rng, latest = self.rng.bit_generator.state, self.watched.latest
        return Position(*place, rng, replace(self.counter), latest)

    def _save(self) -> None:
        if self.store is None:
            return
        at, identity = self.at, self.store.identity
        rest = (self.trace, self.best, self.due, self.watch.seconds, at.departures)
        run = StoredRun(identity, at.t, at.state, at.rng, at.counter, at.latest, *rest)
        self.store.save(run)
