"""Where the budget ends a fit: the best model so far, with an honest verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from equipoise._status import Status
from equipoise.estimators._counted.candidate import Candidate
from equipoise.run import Budget, Verdict

Description = TypeVar("Description")

KEPT_SO_FAR = (
    "The model returned is the best one so far that keeps all bounds on the counted rates; the "
    "certificate says how far it is from optimal."
)
CLOSEST_SO_FAR = "No model that keeps all bounds was found until then; the one returned is closest."
ENDED = {
    Status.MAX_SECONDS: "The time budget was used up.",
    Status.INTERRUPTED: "Interrupted from the keyboard.",
    Status.STOPPED: "Stopped by the callback.",
    Status.CALLBACK_FAILED: "The callback raised an error; the fit stopped there.",
}


def described(
    fit: Candidate, describe: Callable[[Candidate], Description], budget: Budget
) -> tuple[Candidate, Description]:
    """Return the model of a fit, and what `describe` says of it.

    After Ctrl-C, even now, the status of the model says so; it is passed on where the model breaks a bound,
    and where it comes again.
    """
    try:
        found = describe(fit)
        if budget.wish is not Status.INTERRUPTED or fit.result.status is Status.INTERRUPTED:
            return fit, found
    except KeyboardInterrupt:
        budget.stop(Status.INTERRUPTED)
    fit = ended_early([fit], Status.INTERRUPTED)
    return fit, describe(fit)


def ended_early(tried: list[Candidate], status: Status) -> Candidate:
    """Return the best model so far, with an honest verdict."""
    fits = [fit for fit in tried if fit.keeps_bounds] or tried
    if not fits or (status is Status.INTERRUPTED and not fits[0].keeps_bounds):
        raise KeyboardInterrupt
    best = min(fits, key=lambda fit: (fit.violation, fit.objective))
    claim = f"{ENDED.get(status, '')} {KEPT_SO_FAR if best.keeps_bounds else CLOSEST_SO_FAR}"
    verdict = Verdict(status, claim=claim.strip())
    return replace(best, result=best.result.judged(verdict), problems_solved=len(tried))
