"""What may be claimed of the point a run returns: the examiner decides, not the solver."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from equipoise._array import Array
from equipoise._problem import NonFiniteError, Point, Problem
from equipoise._status import Status
from equipoise.certificate import (
    Certificate,
    InfeasibilityProof,
    NearKKT,
    NearOptimality,
    NearStationarity,
    diagnose,
    examine,
    near_kinks,
    near_planes,
    near_within,
)
from equipoise.certificate._curvature import violation_curvature
from equipoise.certificate._proving import provable, prove_infeasible
from equipoise.run._elsewhere import Elsewhere, allowance
from equipoise.run._watched import Counter, WatchedProblem

CLAIMS = (Status.CONVERGED, Status.LOCALLY_INFEASIBLE)
# Why a run ended that has found no feasible point.
BUDGET = {
    Status.MAX_STEPS: "The step budget was used up.",
    Status.MAX_SECONDS: "The time budget was used up.",
    Status.STALLED: "The method can make no more progress.",
}
NO_MINIMUM = (
    "The point returned meets the first-order conditions, but is a saddle or a maximum "
    "(see `certificate.curvature`). Start elsewhere, or raise the budget."
)
# A proof may take one round of cutting planes (two evaluations) for this many evaluations of the solver,
# so that it costs at most a quarter of what the run has cost. Chosen.
EVALUATIONS_PER_ROUND = 8

FOUND_ELSEWHERE = (
    "The run ended where the violation is stationary; `verdict.start` is a feasible point."
)

# The search for a proof of infeasibility may take this many rounds even after a short run; chosen.
LEAST_ROUNDS = 20


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
    near : NearKKT, NearOptimality, NearStationarity or None
        Where CONVERGED rests on near-stationarity: the proof.
    claim : str or None
        What the status means here, instead of its usual sentence.
    proof : InfeasibilityProof or None
        Where the status is INFEASIBLE: the proof.
    reason : Status or None
        Where the status is NOT_FOUND: why the run ended (MAX_STEPS, MAX_SECONDS or STALLED).
    start : array of shape (d,) or None
        A feasible point to start from, where one was found after the run.
    """

    status: Status
    detail: str = ""
    blocking: dict[str, float] = field(default_factory=dict)
    near: NearStationarity | NearKKT | NearOptimality | None = None
    claim: str | None = None
    proof: InfeasibilityProof | None = None
    reason: Status | None = None
    start: Array | None = None

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
    diagnose: bool = True,
) -> Verdict:
    """Settle the status of a run that ended with `status` at the certified point.

    `least` is the least violation that was examined: a run that has been at a feasible point does not
    call the problem infeasible. Without `diagnose` no other point is looked at, and no proof looked for.
    """
    violation = certificate.violation
    if status is Status.FEASIBLE and violation > tol:
        rule = "No `success`: set `tol` to the violation that you accept."
        return Verdict(status, f"The violation is {violation:.3g}, `tol` is {tol:g}. {rule}")
    if status not in CLAIMS and status not in BUDGET:
        return Verdict(status)
    if certificate.curvature is not None and certificate.curvature.negative:
        return Verdict(Status.STALLED if status in CLAIMS else status, claim=NO_MINIMUM)
    if tol > 0 and certificate.residual <= tol:
        return Verdict(Status.CONVERGED)
    if violation > tol and least <= tol:
        detail = "Feasible points were passed: start from one of them, or try another solver."
        return Verdict(Status.STALLED if status in CLAIMS else status, detail)
    if violation > tol:
        return _no_feasible_point(problem, status, certificate, tol, evaluations, diagnose)
    if tol > 0 and (near := _near(problem, certificate.x, tol, evaluations)) is not None:
        return Verdict(Status.CONVERGED, str(near), near=near)
    return Verdict(_ended(status, tol))


def _ended(status: Status, tol: float) -> Status:
    """Return why a run ended, without the claim that it did not bear out."""
    if status is Status.CONVERGED and tol == 0:
        return Status.FINISHED
    return Status.STALLED if status in CLAIMS else status


def _no_feasible_point(
    problem: Problem,
    status: Status,
    certificate: Certificate,
    tol: float,
    evaluations: int,
    diagnose: bool,
) -> Verdict:
    """Settle what is known of feasible points, after a run that has met none."""
    ended = _ended(status, tol)
    unknown = Verdict(ended)
    if tol > 0:
        detail = f"{BUDGET[ended]} The violation is {certificate.violation:.3g}."
        unknown = Verdict(Status.NOT_FOUND, detail, reason=ended)
    if not diagnose:
        return unknown
    try:
        return _finding(problem, unknown, certificate, tol, evaluations)
    except (NonFiniteError, OverflowError, np.linalg.LinAlgError, KeyboardInterrupt):
        return unknown  # the run's result is not lost


def _finding(
    problem: Problem, unknown: Verdict, certificate: Certificate, tol: float, evaluations: int
) -> Verdict:
    """Look for a proof that there is no feasible point; where the run is stuck, for one elsewhere."""
    watched, x = WatchedProblem(problem, Counter()), certificate.x
    point = watched.at(x)
    found = diagnose(watched, point)
    double = isinstance(x, np.ndarray) and x.dtype == np.float64
    if double and provable(problem) and (tol > 0 or found.is_stationary):
        rounds = max(LEAST_ROUNDS, evaluations // EVALUATIONS_PER_ROUND)
        search = prove_infeasible(watched, x, tol, rounds)
        if search.proof is not None:
            blocking = search.proof.shares(problem)
            detail = f"{search.proof} {_in_the_way(found.violation, blocking)}"
            return Verdict(Status.INFEASIBLE, detail, blocking=blocking, proof=search.proof)
    if not found.is_stationary:
        return unknown
    curvature = violation_curvature(watched, point)
    if curvature is not None and curvature.negative:
        return unknown
    start = Elsewhere(watched, tol, allowance(evaluations)).search(x)
    if start is not None:
        return Verdict(unknown.ended, FOUND_ELSEWHERE, start=start)
    detail = _in_the_way(found.violation, found.weights)
    return Verdict(Status.LOCALLY_INFEASIBLE, detail, blocking=found.weights)


def _in_the_way(violation: float, blocking: dict[str, float]) -> str:
    names = ", ".join(repr(name) for name in list(blocking)[:3])
    return f"Violation {violation:.4g}; in the way: {names}."


def _near(
    problem: Problem, x: Array, tol: float, evaluations: int
) -> NearStationarity | NearKKT | NearOptimality | None:
    """Prove near-stationarity where the certificate cannot: at kinks, in double precision."""
    double = isinstance(x, np.ndarray) and x.dtype == np.float64
    if problem.facts.smooth is True or problem.facts.rounding > 1e-12 or not double:
        return None
    try:
        found = near_kinks(problem, x, tol)
        if found is not None:
            return found
        watched, rounds = WatchedProblem(problem, Counter()), evaluations // EVALUATIONS_PER_ROUND
        proximal = near_within(watched, x, tol, rounds)
        if proximal is not None:
            return proximal
        return near_planes(watched, x, tol, max(rounds, LEAST_ROUNDS + 4 * problem.dim))
    except (NonFiniteError, OverflowError, np.linalg.LinAlgError):
        return None  # no proof; the run's result is not lost
