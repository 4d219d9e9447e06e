"""What `solve` returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from equipoise._array import Array
from equipoise._status import Status
from equipoise.certificate import (
    Certificate,
    InfeasibilityProof,
    NearKKT,
    NearOptimality,
    NearStationarity,
)
from equipoise.run._trace import Trace
from equipoise.run._verdict import Verdict


@dataclass(frozen=True)
class Result:
    """The point returned, its certificate, and how the run went (SciPy's names).

    Attributes
    ----------
    x : array of shape (d,)
        The point returned.
    certificate : Certificate
        Describes exactly `x`.
    verdict : Verdict
        What may be claimed of the point; `status`, `message`, `blocking`, `proof` and
        `near` are read off it.
    nit, nfev, njev, nhev : int
        Steps; forward passes, backward passes and Hessian products of the solver.
    seconds : float
        Time the solver used; examinations are not counted.
    trace : Trace
    state : object
        The solver's last state: last iterate, queues, averages.
    tol : float
        The tolerance asked for.
    error : exception or None
        What a callback raised.
    """

    x: Array
    certificate: Certificate
    verdict: Verdict
    nit: int
    nfev: int
    njev: int
    nhev: int
    seconds: float
    trace: Trace
    state: Any
    tol: float
    error: BaseException | None = None

    @property
    def status(self) -> Status:
        """Why the run ended."""
        return self.verdict.status

    @property
    def message(self) -> str:
        """The status as a sentence, with what is particular to this run."""
        return self.verdict.message

    @property
    def blocking(self) -> dict[str, float]:
        """Where the status is INFEASIBLE or LOCALLY_INFEASIBLE: the constraints in the way, with weights."""
        return self.verdict.blocking

    @property
    def proof(self) -> InfeasibilityProof | None:
        """Where the status is INFEASIBLE: the proof, which ``result.proof.check(problem)`` checks."""
        return self.verdict.proof

    @property
    def near(self) -> NearStationarity | NearKKT | NearOptimality | None:
        """The proof where CONVERGED rests on near-stationarity (functions with kinks).

        A KKT point on kinks, or the proximal point, and its distance from `x`; or planes below the functions
        of a convex problem. ``near.residual <= tol``.
        """
        return self.verdict.near

    @final
    def judged(self, verdict: Verdict, **changes: Any) -> Result:
        """Return the result with another verdict, and other changes."""
        return replace(self, verdict=verdict, **changes)

    @property
    def success(self) -> bool:
        """True only when the goal was reached and no constraint is violated beyond `tol`.

        A method that stops at a slack of its own (FEASIBLE) needs a `tol` of at least that slack.
        """
        reached = self.status in (Status.CONVERGED, Status.FEASIBLE)
        return reached and self.certificate.violation <= self.tol

    @property
    def fun(self) -> float:
        """The objective at `x`."""
        return self.certificate.objective

    @property
    def maxcv(self) -> float:
        """The largest violation at `x`."""
        return self.certificate.violation

    @property
    def multipliers(self) -> np.ndarray:
        """The multipliers of the certificate; where `near` is the proof, those of its witness."""
        return self.certificate.multipliers if self.near is None else self.near.multipliers

    def __str__(self) -> str:
        width = 15
        rows = [
            ("status", f"{self.status.name}: {self.message}"),
            ("success", self.success),
            ("fun", f"{self.fun:.10g}"),
            ("maxcv", f"{self.maxcv:.3e}"),
            ("stationarity", f"{self.certificate.stationarity:.3e}"),
            ("complementarity", f"{self.certificate.complementarity:.3e}"),
            *([("near", f"{self.near.residual:.3e} (at kinks)")] if self.near else []),
            ("nit", self.nit),
            ("nfev, njev", f"{self.nfev}, {self.njev}"),
            ("seconds", f"{self.seconds:.3f}"),
        ]
        return "\n".join(f"{name:>{width}}: {value}" for name, value in rows)

    __repr__ = __str__
