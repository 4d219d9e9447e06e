"""One run of a solver: the loop, and everything that changes from step to step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise._array import Array, all_finite
from equipoise._problem import NonFiniteError, Problem
from equipoise._status import Status
from equipoise.certificate import Certificate, examine, violation_curvature, with_curvature
from equipoise.run._budget import Budget
from equipoise.run._checkpoint import Checkpoint, Timer, identify
from equipoise.run._elsewhere import Elsewhere, allowance
from equipoise.run._escape import (
    KKT_WITHOUT_TOL,
    MAX_DEPARTURES,
    Departures,
    from_kkt_point,
    from_violation,
    is_kkt,
    starts_stuck,
)
from equipoise.run._iteration import Iteration
from equipoise.run._result import Result
from equipoise.run._stopwatch import Stopwatch
from equipoise.run._trace import Trace
from equipoise.run._verdict import examine_both, judge
from equipoise.run._watched import Counter, WatchedProblem
from equipoise.solvers import Solver

# From a point where a run stops for another reason, it does not go on.
LEAVABLE = (Status.CONVERGED, Status.STALLED, Status.LOCALLY_INFEASIBLE)

# The curvature may take one product for so many evaluations and products of the run, or a few anyway. Chosen.
COST_PER_PRODUCT, FEW_PRODUCTS = 4, 20


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
        self.problem, self.tol, self.density = problem, tol, density
        self.method = self.solver = solver  # as it was given; as it is after a restart
        self.checkpoint, self.budget, self.second_order = checkpoint, budget, second_order
        self.identity = identify(problem, solver, x0, seed, density) if checkpoint else {}
        stored = checkpoint.load(self.identity) if checkpoint else None
        self.rng = np.random.default_rng(seed)
        if stored is None:
            self.counter, self.trace = Counter(), Trace()
            self.t, self.due, self.watch = 0, 0, Stopwatch()
            self.best: Certificate | None = None
            self.departures = Departures()
        else:
            self.rng.bit_generator.state = stored["rng"]
            self.counter, self.trace = stored["counter"], stored["trace"]
            self.t, self.due, self.watch = stored["t"], stored["due"], Stopwatch(stored["seconds"])
            if self.due == self._next_due():  # it was examined here: the reason to stop may be gone
                self.due = self.t
            self.best, self.departures = stored["best"], stored["departures"]
            self.solver = self.departures.restart(solver)
        self.watched = WatchedProblem(problem, self.counter)
        self.watched.resume(stored["latest"] if stored else None)
        self.latest: Certificate | None = None
        try:
            self.state = solver.init(self.watched, x0) if stored is None else stored["state"]
        except NonFiniteError as error:
            raise ValueError(f"solve: `x0` must be a point where all is finite. {error}") from None
        self.previous = solver.output(self.state)
        self._mark()
        self.error: BaseException | None = None
        self.detail = ""

    def go(self, max_steps: int, max_seconds: float | None) -> Result:
        """Take steps until there is a reason to stop."""
        timer = Timer(self.checkpoint.every) if self.checkpoint else None
        self.watch.start()
        try:
            status = None
            while status is None:
                status = self._reason(max_steps, max_seconds)
                if status is not None:
                    if not self._leave(status, max_steps):
                        break
                    status = None
                    continue
                k = self.t - self.departures.began
                new = self.solver.step(self.watched, self.state, k, self.rng)
                self.previous, self.state = self.solver.output(self.state), new
                self.t += 1
                if timer is not None:
                    self._mark()
                if self.budget.callback is not None:
                    status = self._call(self.budget.callback)
                if timer is not None and timer.due():
                    with self.watch.paused():
                        self._save()
                self.budget.stepped(self.t, self.latest)
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
        self.watch.read()
        result = self._finish(status)
        self._save()
        self.watched.forget()
        self.budget.ended(self.t, self.counter)
        return result

    def _reason(self, max_steps: int, max_seconds: float | None) -> Status | None:
        """Examine if it is time to, and say why to stop, if there is a reason."""
        if self.t >= self.due:
            with self.watch.paused():
                certificate = self._examine(quick=self.solver.exact)
            self.due = self._next_due()
            if self.tol > 0 and certificate.residual <= self.tol:
                return Status.CONVERGED
            if self.second_order and self.t == 0 and self._starts_stuck(certificate):
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
        if status not in LEAVABLE or not self.second_order:
            return False
        certificate, new, past = self._here(), None, self.departures
        point = self.watched.free(certificate.x)
        if is_kkt(certificate, self.tol):
            with self.watch.paused():
                certificate = self.latest = self._with_curvature(certificate)
        if past.count >= MAX_DEPARTURES or self.t >= max_steps:
            return False
        if certificate.curvature is not None:
            new = from_kkt_point(self.watched, point, certificate)
        elif certificate.violation > max(self.tol, KKT_WITHOUT_TOL):
            with self.watch.paused():
                found = violation_curvature(self.problem, point)
            new = from_violation(self.watched, point, found)
            if new is None:
                search = Elsewhere(self.watched, self.tol, allowance(self.counter.values))
                new = search.search(certificate.x)
        if new is None:
            return False
        self.departures = past.after(self.t, certificate, self.tol)
        self.solver = self.departures.restart(self.method)
        self.state = self.solver.init(self.watched, new)
        self.previous = self.solver.output(self.state)
        self.latest, self.best, self.due = None, None, self.t
        self._mark()
        return True

    def _starts_stuck(self, certificate: Certificate) -> bool:
        point = self.watched.free(certificate.x)
        return starts_stuck(self.problem, point, certificate)

    def _here(self) -> Certificate:
        """Return the certificate of the method's present output."""
        if self.latest is not None and self.trace.rows[-1].step == self.t:
            return self.latest
        with self.watch.paused():
            return self._examine()

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
        certificate = self._second_look(self.departures.better(certificate, self.tol))
        least = min((row.violation for row in self.trace.rows), default=np.inf)
        verdict = judge(self.problem, status, certificate, self.tol, self.counter.values, least)
        if self.departures.count:
            self.detail += f" Points left that were no minima: {self.departures.count}."
        if status is Status.NON_FINITE:
            self.detail += f" The last finite point is returned (step {self.t})."
        return Result(
            x=certificate.x,
            certificate=certificate,
            verdict=verdict.with_detail(self.detail),
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

    def _with_curvature(self, certificate: Certificate) -> Certificate:
        """Look at the curvature, at the cost of a share of what the run has cost, or of a few products."""
        cost = self.counter.values + self.counter.products
        most = max(FEW_PRODUCTS, cost // COST_PER_PRODUCT)
        return with_curvature(self.problem, self.watched.free(certificate.x), certificate, most)

    def _second_look(self, certificate: Certificate) -> Certificate:
        """Return the certificate with its curvature, where success is to be claimed of it."""
        known = certificate.curvature is not None or not self.second_order
        if known or self.tol == 0.0 or certificate.residual > self.tol:
            return certificate
        try:
            return self._with_curvature(certificate)
        except (NonFiniteError, KeyboardInterrupt):
            return certificate  # nothing is known; the run's result is not lost

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
        for output in (lambda: self.solver.output(self.state), lambda: self.previous):
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

    def _mark(self) -> None:
        """Note what a step changes in place, so that a step cut short can be taken again."""
        self.marked = {
            "rng": self.rng.bit_generator.state,
            "counter": replace(self.counter),
            "latest": self.watched.latest,
        }

    def _save(self) -> None:
        if self.checkpoint is None:
            return
        self.checkpoint.save(
            {
                **self.marked,
                "identity": self.identity,
                "state": self.state,
                "trace": self.trace,
                "t": self.t,
                "due": self.due,
                "seconds": self.watch.seconds,
                "best": self.best,
                "departures": self.departures,
            }
        )
