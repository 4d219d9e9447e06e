"""Bounds that could not be met: the warning, the error, and the message."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise._status import Status
from equipoise.constraints import Binding
from equipoise.estimators._counted import Candidate
from equipoise.estimators._promised import Promise
from equipoise.problems import LearningProblem

# Broken bounds that a message lists, at the most. Chosen.
MAX_LISTED = 3


class InfeasibleWarning(UserWarning):
    """No model was found that meets all constraints, or there is none; the message says what was reached."""


class InfeasibleError(ValueError):
    """The same, where ``on_infeasible="raise"`` was asked for."""


@dataclass(frozen=True)
class BrokenBound:
    """A bound that is not met: what was asked, and what was reached."""

    name: str
    sense: str
    bound: float
    reached: float

    def __str__(self) -> str:
        shown = f"{self.reached:.4f}"
        if float(shown) == round(self.bound, 4):  # as many digits as it takes to see a difference
            shown = f"{self.reached:.8g}"
        return f"{self.name} asked {self.sense} {self.bound:g}, reached {shown}"


def broken_bounds(
    binding: Binding, problem: LearningProblem, fit: Candidate, counted: bool
) -> list[BrokenBound]:
    """Return the bounds of a problem that do not hold, the worst first; of counted or smooth rates."""
    rows = problem.rows
    if counted:
        values, allowed = fit.counted, fit.allowed
    else:
        values, allowed = fit.smooth, np.full(fit.smooth.size, max(1e-6, fit.result.tol))
    over = np.where(values <= allowed, 0.0, values)
    if not (over > 0).any():
        return []
    left = binding.measured(
        values, lambda: rows.thresholded(fit.x) if counted else rows.at(fit.x).values
    )
    return [
        BrokenBound(repr(row.name), row.sense, row.bound, float(left[i]))
        for i in np.argsort(-over, kind="stable")
        if over[i] > 0
        for row in (binding.inequalities[i],)
    ]


def complain(owner: str, on_infeasible: str, broken: list[BrokenBound], fit: Candidate) -> None:
    """Warn or raise where bounds are broken, as the user chose: "warn", "raise" or "ignore"."""
    if not broken or on_infeasible == "ignore":
        return
    more = f" (and {len(broken) - MAX_LISTED} more)" if len(broken) > MAX_LISTED else ""
    listed = "; ".join(map(str, broken[:MAX_LISTED])) + more
    unfinished = fit.result.verdict.ended in (
        Status.MAX_SECONDS,
        Status.INTERRUPTED,
        Status.STOPPED,
    )
    if unfinished:
        message = f"{owner}: the bounds are not all met yet. {listed}. {fit.result.message}"
    else:
        proved = fit.result.status is Status.INFEASIBLE
        verdict = (
            "the bounds could not all be met"
            if proved
            else "no model that meets all bounds was found"
        )
        message = f"{owner}: {verdict}. {listed}. {fit.result.verdict.claim or ''} "
        blocking = list(fit.result.blocking)
        if len(blocking) > 1:
            message += f"In the way of each other: {', '.join(map(repr, blocking[:MAX_LISTED]))}. "
        message += "Loosen these bounds to what was reached, or drop one of them."
    _say(message, on_infeasible)


def complain_of_promise(owner: str, on_infeasible: str, promise: Promise | None) -> None:
    """Warn or raise where bounds could not be promised, as the user chose."""
    if promise is None or promise.kept or on_infeasible == "ignore":
        return
    _say(f"{owner}: {promise.sentence}", on_infeasible)


def _say(message: str, on_infeasible: str) -> None:
    if on_infeasible == "raise":
        raise InfeasibleError(message)
    warnings.warn(message, InfeasibleWarning, stacklevel=5)  # where the user called `fit`


def warn_of_constant(
    owner: str,
    on_infeasible: str,
    problem: LearningProblem,
    x: np.ndarray,
    unconstrained: np.ndarray | None,
    classes: Any,
) -> None:
    """Warn that bounds are kept by saying the same of all rows, unless the user ignores it.

    Not where the model without constraints, `unconstrained`, does so too.
    """
    rows = problem.rows
    alike = rows.is_constant(x) and (unconstrained is None or not rows.is_constant(unconstrained))
    if on_infeasible == "ignore" or not alike:
        return
    said = "gives every row the same score"
    if rows.uses_threshold:
        said = f"predicts {classes[int(rows.positives(x)[0] > 0)]!r} for every row"
    message = (
        f"{owner}: the best model found that keeps the bounds {said}. Loosen the bounds: by counting, a "
        "bound of exactly 0 can rarely be met otherwise."
    )
    warnings.warn(message, InfeasibleWarning, stacklevel=4)
