"""One run of a solver: the loop, and everything that changes from step to step."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise._array import Array, all_finite
from equipoise.certificate import Certificate, diagnose, examine
from equipoise.problem import Problem
from equipoise.run.checkpoint import Checkpoint, Timer, identify
from equipoise.run.counted import Counted, Counter, NonFiniteError
from equipoise.run.result import Result
from equipoise.run.trace import Trace
from equipoise.solvers import Solver
from equipoise.status import Status


@dataclass(frozen=True)
class Iteration:
    """What a callback sees after every step."""

    step: int  # steps taken
    state: Any  # the solver's state
    solver: Solver
    certificate: Certificate  # of the latest examination, which may be some steps old
    seconds: float

    @property
    def x(self) -> Array:
        """What the solver would return now."""
        return self.solver.output(self.state)[0]


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
    ) -> None:
        self.problem, self.solver, self.tol, self.density = problem, solver, tol, density
        self.checkpoint = checkpoint
        self.identity = identify(problem, solver, x0, seed, density) if checkpoint else {}
        stored = checkpoint.load(self.identity) if checkpoint else None
        self.rng = np.random.default_rng(seed)
        if stored is None:
            self.counter, self.trace = Counter(), Trace()
            self.t, self.due, self.seconds = 0, 0, 0.0
            self.best: Certificate | None = None
        else:
            self.rng.bit_generator.state = stored["rng"]
            self.counter, self.trace = stored["counter"], stored["trace"]
            self.t, self.due, self.seconds = stored["t"], stored["due"], stored["seconds"]
            self.best = stored["best"]
        self.counted = Counted(problem, self.counter)
        self.latest: Certificate | None = None
        try:
            self.state = solver.init(self.counted, x0) if stored is None else stored["state"]
        except NonFiniteError as error:
            raise ValueError(f"solve: `x0` must be a point where all is finite. {error}") from None
        self.previous = self.state
        self._mark()
        self.error: BaseException | None = None
        self.detail = ""

    def go(
        self, max_steps: int, max_seconds: float | None, callback: Callable | None, bar: Any
    ) -> Result:
        """Take steps until there is a reason to stop."""
        timer = Timer(self.checkpoint.every) if self.checkpoint else None
        self.start = time.perf_counter()
        try:
            status = None
            while status is None:
                status = self._reason(max_steps, max_seconds)
                if status is not None:
                    break
                new = self.solver.step(self.counted, self.state, self.t, self.rng)
                self.previous, self.state, self.t = self.state, new, self.t + 1
                if timer is not None:
                    self._mark()
                if callback is not None:
                    status = self._call(callback)
                if timer is not None and timer.due():
                    self._paused(self._save)
                bar(self.t, self.latest)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except NonFiniteError as error:
            status, self.detail = Status.NON_FINITE, str(error)
        except BaseException as error:
            self._clock()
            self._save()
            error.add_note(f"(raised in step {self.t} of {type(self.solver).__name__})")
            raise
        self._clock()
        result = self._finish(status)
        self._save()
        return result

    def _reason(self, max_steps: int, max_seconds: float | None) -> Status | None:
        """Examine if it is time to, and say why to stop, if there is a reason."""
        if self.t >= self.due:
            certificate = self._paused(self._examine)
            self.due = max(self.t + 1, int(np.ceil((self.t + 1) * 10 ** (1 / self.density))) - 1)
            if self.tol > 0 and certificate.residual <= self.tol:
                return Status.CONVERGED
        verdict = self.solver.verdict(self.state)
        if verdict is not None:
            return verdict
        if self.t >= max_steps:
            return Status.MAX_STEPS
        if max_seconds is not None:
            self._clock()
            if self.seconds >= max_seconds:
                return Status.MAX_SECONDS
        return None

    def _examine(self) -> Certificate:
        """Certify the solver's output; remember the best so far."""
        certificate = self._certify(self.state)
        if self.best is None or certificate.residual < self.best.residual:
            self.best = certificate
        self.trace.add(self.t, certificate, self.counter, self.seconds)
        self.latest = certificate
        return certificate

    def _certify(self, state: Any) -> Certificate:
        """Certify with the solver's multipliers or fitted ones, whichever proves more."""
        x, multipliers = self.solver.output(state)
        if not all_finite(x):
            raise NonFiniteError("The method's output is not finite.")
        point = Counted(self.problem, Counter()).at(x)  # examinations are not the solver's count
        given = None if multipliers is None else np.maximum(multipliers, 0.0)
        certificate = examine(self.problem, point, given)
        if given is not None and not certificate.residual <= self.tol:
            fitted = examine(self.problem, point, None)
            certificate = fitted if fitted.residual < certificate.residual else certificate
        return certificate

    def _finish(self, status: Status) -> Result:
        """Certify the point to return, and settle the status by the certificate."""
        status, certificate = self._final(status)
        status, blocking = self._settle(status, certificate)
        if status is Status.NON_FINITE:
            self.detail += f" The last finite point is returned (step {self.t})."
        return Result(
            x=certificate.x,
            certificate=certificate,
            status=status,
            message=f"{status.message} {self.detail}".strip(),
            nit=self.t,
            nfev=self.counter.values,
            njev=self.counter.gradients,
            nhev=self.counter.products,
            seconds=self.seconds,
            trace=self.trace,
            state=self.state,
            blocking=blocking,
            tol=self.tol,
            error=self.error,
        )

    def _settle(self, status: Status, certificate: Certificate) -> tuple[Status, dict[str, float]]:
        """Let the certificate, not the solver, decide what may be claimed."""
        claims = (Status.CONVERGED, Status.INFEASIBLE)
        budget = (Status.MAX_STEPS, Status.MAX_SECONDS, Status.STALLED)
        if status not in claims + budget:
            return status, {}
        if self.tol > 0 and certificate.residual <= self.tol:
            return Status.CONVERGED, {}
        if certificate.violation > self.tol:
            found = diagnose(self.problem, self.problem.at(certificate.x))
            if found.is_stationary:
                names = ", ".join(repr(name) for name in list(found.weights)[:3])
                self.detail = f"Violation {found.violation:.4g}; in the way: {names}."
                return Status.INFEASIBLE, found.weights
        if status is Status.CONVERGED and self.tol == 0:
            return Status.FINISHED, {}
        return (Status.STALLED if status in claims else status), {}

    def _final(self, status: Status) -> tuple[Status, Certificate]:
        """Certify the point to return: the output; after trouble, the best there is."""
        last = self.trace.rows[-1].step if self.trace.rows else -1
        interrupted = status is Status.INTERRUPTED
        if self.latest is not None and last == self.t and not interrupted:
            return status, self.latest
        if status is not Status.NON_FINITE:
            try:
                certificate = self._examine()
                return status, (self.best or certificate) if interrupted else certificate
            except NonFiniteError as error:
                self.detail = f"{self.detail} {error}".strip()
                user = (Status.INTERRUPTED, Status.STOPPED, Status.CALLBACK_FAILED)
                status = status if status in user else Status.NON_FINITE
        for state in (self.state, self.previous):
            try:
                return status, self._certify(state)
            except (NonFiniteError, ValueError):
                continue
        if self.best is None:
            raise ValueError(f"solve: `x0` must be a point where all is finite. {self.detail}")
        return status, self.best

    def _call(self, callback: Callable) -> Status | None:
        """Call the user's callback; an error ends the run but loses nothing."""
        certificate = self.latest or self.best
        iteration = Iteration(self.t, self.state, self.solver, certificate, self.seconds)  # type: ignore[arg-type]
        try:
            self._paused(lambda: callback(iteration))
        except StopIteration:
            return Status.STOPPED
        except Exception as error:
            self.error = error
            self.detail = f"{type(error).__name__}: {error}"
            return Status.CALLBACK_FAILED
        return None

    def _mark(self) -> None:
        """Note what a step changes in place, so that a step cut short can be taken again."""
        self.marked = (self.rng.bit_generator.state, replace(self.counter))

    def _save(self) -> None:
        if self.checkpoint is None:
            return
        rng_state, counter = self.marked
        self.checkpoint.save(
            {
                "identity": self.identity,
                "state": self.state,
                "rng": rng_state,
                "counter": counter,
                "trace": self.trace,
                "t": self.t,
                "due": self.due,
                "seconds": self.seconds,
                "best": self.best,
            }
        )

    def _clock(self) -> None:
        now = time.perf_counter()
        self.seconds += now - self.start
        self.start = now

    def _paused(self, action: Callable[[], Any]) -> Any:
        """Run something that is not the solver's work, with the solver's clock stopped."""
        self._clock()
        try:
            return action()
        finally:
            self.start = time.perf_counter()
