"""Where a run that stopped can go on: from a point that is no minimum, or from a feasible one elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise._array import Array
from equipoise._problem import NonFiniteError, Problem
from equipoise._status import Status
from equipoise.certificate import Certificate
from equipoise.certificate._curvature import violation_curvature
from equipoise.certificate._examiner import with_curvature
from equipoise.certificate._lanczos import least_products
from equipoise.run._elsewhere import Elsewhere, allowance
from equipoise.run._escape import (
    KKT_WITHOUT_TOL,
    from_kkt_point,
    from_violation,
    is_kkt,
    starts_stuck,
)
from equipoise.run._watched import WatchedProblem

# From a point where a run stops for another reason, it does not go on.
LEAVABLE = (Status.CONVERGED, Status.STALLED, Status.LOCALLY_INFEASIBLE)

# What a second look may raise where functions are huge, or not finite beside the point: then it has found
# nothing, and the run ends as it would have without it.
MAY_FAIL = (NonFiniteError, OverflowError, np.linalg.LinAlgError)

# The curvature may take one product for this many evaluations and products of the run. Chosen.
COST_PER_PRODUCT = 4

# A space of at most this many dimensions is looked at completely, whatever the run has cost. Chosen.
SMALL_SPACE = 20


@dataclass(frozen=True)
class Leaving:
    """A second look at the points where a run stops.

    Attributes
    ----------
    problem : Problem
        As the user gave it.
    watched : WatchedProblem
        The same, as the solver sees it.
    tol : float
    """

    problem: Problem
    watched: WatchedProblem
    tol: float

    def starts_stuck(self, certificate: Certificate) -> bool:
        """Whether the point a run starts from is stationary, so that no step would leave it."""
        try:
            return starts_stuck(self.problem, self.watched.free(certificate.x), certificate)
        except MAY_FAIL:
            return False

    def curved(self, certificate: Certificate, steps: int) -> Certificate:
        """Return the certificate of a KKT point with its curvature; of other points as it is.

        `steps` counts those of the run that stopped there.
        """
        near = is_kkt(certificate, self.tol)
        return self._with_curvature(certificate, steps) if near else certificate

    def better_start(self, certificate: Certificate) -> Array | None:
        """Return a point to start again from; None where none is found.

        From a KKT point along a direction that bends down; from a stationary point of the violation
        likewise, else a feasible point elsewhere.
        """
        try:
            return self._found(certificate)
        except MAY_FAIL:
            return None

    def _found(self, certificate: Certificate) -> Array | None:
        point = self.watched.free(certificate.x)
        if certificate.curvature is not None:
            return from_kkt_point(self.watched, point, certificate)
        if certificate.violation <= max(self.tol, KKT_WITHOUT_TOL):
            return None
        new = from_violation(self.watched, point, violation_curvature(self.problem, point))
        if new is not None:
            return new
        most = allowance(self.watched.counter.values)
        return Elsewhere(self.watched, self.tol, most).search(certificate.x)

    def second_look(self, certificate: Certificate, steps: int) -> Certificate:
        """Return the certificate with its curvature, where success is to be claimed of it."""
        claimed = self.tol > 0.0 and certificate.residual <= self.tol
        if certificate.curvature is not None or not claimed:
            return certificate
        return self._with_curvature(certificate, steps)

    def _with_curvature(self, certificate: Certificate, steps: int) -> Certificate:
        """Look at the curvature, at the cost of a share of what the run has cost.

        A small space is looked at completely in any case. In a larger one the products are at least as many
        as tell anything, since short runs too end at saddles: all that a run meets from a symmetric start
        is symmetric. Only a problem that estimates its own curvature need not pay for more than its share
        once it took steps: its points are sums over rows, of which no two are alike.
        """
        dim, cost = self.problem.dim, self.watched.counter.values + self.watched.counter.products
        few = SMALL_SPACE if dim <= SMALL_SPACE else least_products(dim)
        if steps and dim > SMALL_SPACE and self.problem.sketched:
            few = 0
        most = max(few, cost // COST_PER_PRODUCT)
        point = self.watched.free(certificate.x)
        try:
            return with_curvature(self.problem, point, certificate, most, self.watched.earlier)
        except MAY_FAIL:
            return certificate
