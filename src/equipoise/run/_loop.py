"""The only outer loop: steps of a method until there is a reason to stop."""

from __future__ import annotations

from equipoise._problem import NonFiniteError
from equipoise._status import Status
from equipoise.run._ending import finish, result_of
from equipoise.run._escape import MAX_DEPARTURES
from equipoise.run._leaving import LEAVABLE
from equipoise.run._result import Result
from equipoise.run._run import Run
from equipoise.run._verdict import Verdict

WRONG_DATA = (
    TypeError,
    AttributeError,
    LookupError,
    ValueError,
)  # what a step raises of wrong data


def go(run: Run, max_steps: int, max_seconds: float | None) -> Result:
    """Take steps until there is a reason to stop."""
    try:
        return _go(run, max_steps, max_seconds)
    except WRONG_DATA as error:
        if run.store is None or run.t != run.resumed_at:
            raise
        raise run.store.refused(error) from error


def _go(run: Run, max_steps: int, max_seconds: float | None) -> Result:
    run.watch.start()
    try:
        status = _take_steps(run, max_steps, max_seconds)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
        run.budget.stop(status)
    except (NonFiniteError, OverflowError) as error:
        status, run.detail = Status.NON_FINITE, str(error)
    except BaseException as error:
        run.watch.read()
        run.save()
        error.add_note(f"(raised in step {run.t} of {type(run.solver).__name__})")
        raise
    try:
        run.watch.read()
        result = finish(run, status)
        run.save()
    except KeyboardInterrupt:  # for a second time, or at the very end
        run.budget.stop(Status.INTERRUPTED)
        if run.examined.best is None:
            raise
        result = result_of(run, Verdict(Status.INTERRUPTED), run.examined.best)
    run.watched.forget()
    run.budget.ended(run.t, run.counter)
    return result


def _take_steps(run: Run, max_steps: int, max_seconds: float | None) -> Status:
    """Take steps, and return why no more are taken."""
    while True:
        status = _reason(run, max_steps, max_seconds)
        if status is not None:
            if _leave(run, status, max_steps):
                continue
            return status
        solver, past = run.solver, run.at.departures
        state = solver.step(run.watched, run.state, run.t - past.began, run.rng)
        place = (run.t + 1, state, solver.output(run.state))
        run.at = run.position(*place, solver, past)
        status = run.call()
        if status is not None:
            return status
        if run.store is not None and run.store.timer.due():
            with run.watch.paused():
                run.save()
        run.budget.stepped(run.t, run.examined.latest)


def _reason(run: Run, max_steps: int, max_seconds: float | None) -> Status | None:
    """Examine if it is time to, and say why to stop, if there is a reason."""
    if run.t >= run.examined.due:
        with run.watch.paused():
            certificate = run.examine(quick=run.solver.exact)
        run.examined.schedule(run.t)
        if run.tol > 0 and certificate.residual <= run.tol:
            return Status.CONVERGED
        if run.leaving is not None and run.t == 0 and run.leaving.starts_stuck(certificate):
            _leave(run, Status.STALLED, max_steps)
    verdict = run.solver.verdict(run.state)
    if verdict is not None:
        return verdict
    if run.t >= max_steps:
        return Status.MAX_STEPS
    if (wish := run.budget.wish) is not None:
        return wish
    if max_seconds is not None and run.watch.read() >= max_seconds:
        return Status.MAX_SECONDS
    return None


def _leave(run: Run, status: Status, max_steps: int) -> bool:
    """Start again from a better point, if the method stopped at one that is no minimum."""
    if run.leaving is None or status not in LEAVABLE:
        return False
    past = run.at.departures
    with run.watch.paused():
        certificate = run.examined.latest = run.leaving.curved(run.here(), run.t)
    if past.count >= MAX_DEPARTURES or run.t >= max_steps:
        return False
    new = run.leaving.better_start(certificate)
    if new is None:
        return False
    departures = past.after(run.t, certificate, run.tol)
    solver = departures.restart(run.method)
    try:
        state = solver.init(run.watched, new)
    except NonFiniteError:
        return False
    run.at = run.position(run.t, state, solver.output(state), solver, departures)
    run.examined.restart(run.t)
    return True
