"""How a run ended, as a sentence for the person who started it."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """Why a run stopped; the value is the message."""

    CONVERGED = "Converged: the point returned meets the optimality conditions within `tol`."
    FINISHED = (
        "The method stopped by its own rule; the certificate says how good the point is. "
        "Set `tol` to have it judged."
    )
    FEASIBLE = "A feasible point was found, as asked; the objective was not looked at."
    INFEASIBLE = (
        "Infeasible, proved: no point of the domain meets all constraints. The proof is in `proof`, "
        "and can be checked; loosen the constraints named in `blocking`."
    )
    LOCALLY_INFEASIBLE = (
        "Locally infeasible, not proved: the point returned is stationary for the violation, and starts "
        "elsewhere found no feasible point either. Loosen the constraints named in `blocking`, or "
        "start from another point."
    )
    NOT_FOUND = (
        "No feasible point was found within the budget, and nothing is known of whether there is one. "
        "Raise the budget, start elsewhere, or try another solver."
    )
    NOT_PROMISED = (
        "No promise: rows that were held out do not show that the bounds hold for the population. Give more "
        "rows, or loosen the bounds to what the report says can be promised."
    )
    MAX_STEPS = (
        "The step budget was used up and `tol` not reached. Raise `max_steps`, loosen `tol`, "
        "or try another solver."
    )
    MAX_SECONDS = (
        "The time budget was used up and `tol` not reached. Raise `max_seconds`, or resume "
        "from the checkpoint."
    )
    STALLED = (
        "The method can make no more progress, but the point returned does not meet the "
        "optimality conditions within `tol`."
    )
    INTERRUPTED = "Interrupted from the keyboard; the best point so far is returned."
    STOPPED = "Stopped by the callback."
    CALLBACK_FAILED = "The callback raised an error (see `error`); the run stopped there."
    NON_FINITE = "A function returned a value or gradient that is not finite."

    @property
    def message(self) -> str:
        """The sentence."""
        return self.value

    @property
    def infeasible(self) -> bool:
        """Whether the run found that there is no feasible point: proved, or only near where it looked."""
        return self in (Status.INFEASIBLE, Status.LOCALLY_INFEASIBLE)
