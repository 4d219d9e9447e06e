"""What may be claimed of the point a run returns: the examiner decides, not the solver."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from equipoise._array import Array
from equipoise._problem import NonFiniteError, Point, Problem
from equipoise._status import Status
from equipoise.certificate import (
    Certificate,
    NearKKT,
    NearStationarity,
    diagnose,
    examine,
    near_kinks,
    near_within,
)
from equipoise.run._watched import Counter, WatchedProblem

CLAIMS = (Status.CONVERGED, Status.LOCALLY_INFEASIBLE)
# Why a run ended that has found no feasible point.
BUDGET = {
    Status.MAX_STEPS: "The step budget was used up.",
    Status.MAX_SECONDS: "The time budget was used up.",
    Status.STALLED: "The method can make no more progress.",
}
# A proof may take one round of cutting planes (two evaluations) for this many evaluations of the solver,
# so that it costs at most a quarter of what the run has cost. Chosen.
EVALUATIONS_PER_ROUND = 8


@dataclass(frozen=True)
class Verdict:
    """A status the certificate agrees with, and the evidence.

    Attributes
    ----------
    status : Status
    detail : str
        What is particular to this run.
    blocking : dict
        Where the status is INFEASIBLE or LOCALLY_INFEASIBLE: the constraints in the way, with their weights.
    near : NearKKT, NearStationarity or None
        Where CONVERGED rests on near-stationarity: the proof.
    claim : str or None
        What the status means here, instead of its usual sentence.
    reason : Status or None
        Where the status is NOT_FOUND: why the run ended (MAX_STEPS, MAX_SECONDS or STALLED).
    """

    status: Status
    detail: str = ""
    blocking: dict[str, float] = field(default_factory=dict)
    near: NearStationarity | NearKKT | None = None
    claim: str | None = None
    reason: Status | None = None

    @property
    def ended(self) -> Status:
        """Why the run ended: the status, or the reason behind NOT_FOUND."""
        return self.reason or self.status

    @property
    def message(self) -> str:
        """The status as a sentence, with what is particular to this run."""
        claim = self.claim or self.status.message
        if self.claim is None and self.near is not None:
            claim = "Converged to near-stationarity within `tol`."
        return f"{claim} {self.detail}".strip()

    def with_detail(self, detail: str) -> Verdict:
        """Return the verdict with one more sentence."""
        return replace(self, detail=f"{self.detail} {detail}".strip())


def examine_both(
    problem: Problem, point: Point, multipliers: np.ndarray | None, tol: float
) -> Certificate:
    """Certify with the solver's multipliers or fitted ones, whichever proves more."""
    if multipliers is None:
        return examine(problem, point, None)
    given = examine(problem, point, np.maximum(multipliers, 0.0))
    if given.residual <= tol:
        return given
    fitted = examine(problem, point, None)
    return fitted if fitted.residual < given.residual else given


def judge(
    problem: Problem,
    status: Status,
    certificate: Certificate,
    tol: float,
    evaluations: int,
    least: float = np.inf,
) -> Verdict:
    """Settle the status of a run that ended with `status` at the certified point.

    `least` is the least violation that was examined: a run that has been at a feasible point does not
    call the problem infeasible.
    """
    violation = certificate.violation
    if status is Status.FEASIBLE and violation > tol:
        rule = "No `success`: set `tol` to the violation that you accept."
        return Verdict(status, f"The violation is {violation:.3g}, `tol` is {tol:g}. {rule}")
    if status not in CLAIMS and status not in BUDGET:
        return Verdict(status)
    if tol > 0 and certificate.residual <= tol:
        return Verdict(Status.CONVERGED)
    if violation > tol and least <= tol:
        detail = "Feasible points were passed: start from one of them, or try another solver."
        return Verdict(Status.STALLED if status in CLAIMS else status, detail)
    if violation > tol:
        found = diagnose(problem, problem.at(certificate.x))
        if found.is_stationary:
            names = ", ".join(repr(name) for name in list(found.weights)[:3])
            detail = f"Violation {found.violation:.4g}; in the way: {names}."
            convex = problem.facts.convex_constraints
            status = Status.INFEASIBLE if convex else Status.LOCALLY_INFEASIBLE
            return Verdict(status, detail, blocking=found.weights)
        if tol > 0:
            ended = Status.STALLED if status in CLAIMS else status
            detail = f"{BUDGET[ended]} The violation is {violation:.3g}."
            return Verdict(Status.NOT_FOUND, detail, reason=ended)
    elif tol > 0 and (near := _near(problem, certificate.x, tol, evaluations)) is not None:
        return Verdict(Status.CONVERGED, str(near), near=near)
    if status is Status.CONVERGED and tol == 0:
        return Verdict(Status.FINISHED)
    return Verdict(Status.STALLED if status in CLAIMS else status)


def _near(
    problem: Problem, x: Array, tol: float, evaluations: int
) -> NearStationarity | NearKKT | None:
    """Prove near-stationarity where the certificate cannot: at kinks, in double precision."""
    double = isinstance(x, np.ndarray) and x.dtype == np.float64
    if problem.facts.smooth is True or problem.facts.rounding > 1e-12 or not double:
        return None
    try:
        found = near_kinks(problem, x, tol)
        if found is not None:
            return found
        return near_within(
            WatchedProblem(problem, Counter()), x, tol, evaluations // EVALUATIONS_PER_ROUND
        )
    except (NonFiniteError, np.linalg.LinAlgError, KeyboardInterrupt):
        return None  # no proof; the run's result is not lost
