"""The end of a run: the point to return, what may be claimed of it, and the result."""

from __future__ import annotations

from equipoise._problem import NonFiniteError
from equipoise._status import Status
from equipoise.certificate import Certificate
from equipoise.run._result import Result
from equipoise.run._run import Run
from equipoise.run._verdict import Verdict, judge

# After these the status stays what the user wished, even where the point is not finite.
OF_THE_USER = (Status.INTERRUPTED, Status.STOPPED, Status.CALLBACK_FAILED)


def finish(run: Run, status: Status) -> Result:
    """Certify the point to return, and settle the status by the certificate."""
    status, certificate = _final(run, status)
    departures = run.at.departures
    certificate = departures.better(certificate, run.tol)
    if run.leaving is not None:
        certificate = run.leaving.second_look(certificate, run.t)
    least = run.examined.least_violation
    verdict = judge(
        run.problem, status, certificate, run.tol, run.counter.values, least, run.diagnose
    )
    detail = run.detail
    if departures.count:
        detail += f" Points left that were no minima: {departures.count}."
    if status is Status.NON_FINITE:
        detail += f" The last finite point is returned (step {run.t})."
    return result_of(run, verdict.with_detail(detail), certificate)


def result_of(run: Run, verdict: Verdict, certificate: Certificate) -> Result:
    """Return the result with a verdict of a certified point."""
    return Result(
        x=certificate.x,
        certificate=certificate,
        verdict=verdict,
        nit=run.t,
        nfev=run.counter.values,
        njev=run.counter.gradients,
        nhev=run.counter.products,
        seconds=run.watch.seconds,
        trace=run.examined.trace,
        state=run.state,
        tol=run.tol,
        error=run.error,
    )


def _final(run: Run, status: Status) -> tuple[Status, Certificate]:
    """Certify the point to return: the output; after trouble, the best there is."""
    examined, interrupted = run.examined, status is Status.INTERRUPTED
    if examined.latest is not None and examined.last_step == run.t and not interrupted:
        exact = run.solver.exact and examined.latest.residual > run.tol
        return status, examined.certify(run.output) if exact else examined.latest
    if status is not Status.NON_FINITE:
        try:
            certificate = examined.take(run.t, run.output, run.watch.seconds)
            return status, (examined.best or certificate) if interrupted else certificate
        except NonFiniteError as error:
            run.detail = f"{run.detail} {error}".strip()
            status = status if status in OF_THE_USER else Status.NON_FINITE
    for output in (lambda: run.output, lambda: run.at.previous):
        try:
            return status, examined.certify(output())
        except (NonFiniteError, ValueError):
            continue
    if examined.best is None:
        raise ValueError(f"solve: `x0` must be a point where all is finite. {run.detail}")
    return status, examined.best
