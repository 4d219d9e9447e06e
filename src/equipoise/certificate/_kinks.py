"""KKT points on kinks: the examiner moves onto them, and fits subgradients as it fits multipliers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise import _check
from equipoise._array import norm, to_numpy
from equipoise._problem import Kinks, Point, Problem
from equipoise.certificate._bounded import NOTHING, bounded_least_squares
from equipoise.certificate._examiner import ACTIVE_WITHIN, Certificate, examine

# Scores closer to a kink than one of these times `tol` are moved onto it; tried in turn. Chosen.
KINK_WIDTHS = 1.0, 1e-1, 1e-2, 1e-3, 1e-4

# Multipliers fitted at the most, those of the largest constraints, for each variable and in all; the fit
# takes their number cubed. Chosen.
MULTIPLIERS_PER_VARIABLE, MAX_MULTIPLIERS = 2, 500

# How often the multipliers are fitted, and the bounds on the shares that depend on them changed, at the
# most, and the relative change of the bounds that counts as none; chosen.
ROUNDS, NO_CHANGE = 30, 1e-12


@dataclass(frozen=True)
class NearKKT:
    """A KKT point on kinks, next to the point examined.

    Attributes
    ----------
    certificate : Certificate
        Of the KKT point, the witness; with subgradients fitted where its scores are on a kink.
    distance : float
        From the point examined to the witness.
    """

    certificate: Certificate
    distance: float

    @property
    def witness(self) -> np.ndarray:
        """The KKT point, of shape (d,)."""
        return to_numpy(self.certificate.x)

    @property
    def multipliers(self) -> np.ndarray:
        """The multipliers there."""
        return self.certificate.multipliers

    @property
    def residual(self) -> float:
        """At most this far from the point examined there is a point of at most this KKT residual."""
        return max(self.distance, self.certificate.residual)

    def __str__(self) -> str:
        return (
            f"A point on kinks, {self.distance:.2g} from the point returned, has the KKT residual "
            f"{self.certificate.residual:.2g}; see `near`."
        )


def near_kinks(problem: Problem, x: np.ndarray, tol: float) -> NearKKT | None:
    """Return a point within `tol` of `x` with a KKT residual of at most `tol`, if one is found."""
    _check.kind("near_kinks", "problem", problem, Problem)
    x = _check.vector("near_kinks", "x", x, problem.dim)
    tol = _check.positive("near_kinks", "tol", tol)
    for width in KINK_WIDTHS:
        kinks = problem.kinks(x, width * tol)
        if kinks is None or norm(kinks.x - x) > tol:
            continue
        near = NearKKT(_certified(problem, kinks), norm(kinks.x - x))
        if near.residual <= tol:
            return near
    return None


def _certified(problem: Problem, kinks: Kinks) -> Certificate:
    """Certify the point on the kinks with the best multipliers and shares.

    With the gradients taken without any share of the jumps, they minimise
    ``|T(grad f_0 + sum_i lam_i grad f_i + sum_j mu_j jump_j)|^2 + sum_i (lam_i f_i)^2`` over
    ``lam >= 0`` and ``0 <= mu_j <= sum_i (1, lam)_i mass_ji``, where T projects on the tangent cone. The
    upper bounds depend on lam, and the linear piece of T on both: so they and the fit alternate until
    neither changes.
    """
    point = problem.at(kinks.x)
    most = min(MULTIPLIERS_PER_VARIABLE * problem.dim, MAX_MULTIPLIERS)
    nearest = np.argsort(-point.constraints, kind="stable")[:most]
    active = 1 + nearest[point.constraints[nearest] >= -ACTIVE_WITHIN]
    none = _with_shares(point, kinks, np.zeros(kinks.used.size))
    slope = to_numpy(none.gradient(0))
    columns = np.vstack((to_numpy(none.gradients(active)), kinks.jumps))
    prices = np.zeros((columns.shape[0], active.size))
    prices[: active.size] = np.diag(point.values[active])
    weights = np.zeros(point.values.size)
    weights[0], downhill = 1.0, -slope
    matrix = last = np.empty(0)
    for _ in range(ROUNDS):
        bounds = kinks.masses @ weights
        piece = problem.domain.tangent_map(kinks.x, downhill)
        before, matrix = matrix, np.hstack((piece(columns), prices)).T
        if np.array_equal(matrix, before) and np.allclose(bounds, last, rtol=NO_CHANGE, atol=0.0):
            break
        last = bounds
        target = np.concatenate((-piece(slope), np.zeros(active.size)))
        high = np.concatenate((np.full(active.size, np.inf), np.maximum(bounds, NOTHING)))
        fit = bounded_least_squares(matrix, target, high)
        weights[active] = fit[: active.size]
        downhill = -slope - fit @ columns
    bounds = np.maximum(kinks.masses @ weights, NOTHING)
    shares = np.clip(fit[active.size :] / bounds, 0.0, 1.0)
    return examine(problem, _with_shares(point, kinks, shares), weights[1:])


def _with_shares(point: Point, kinks: Kinks, shares: np.ndarray) -> Point:
    """Return the point with these subgradients at its kinks."""
    more = shares - kinks.used

    def vjp(weights: np.ndarray) -> np.ndarray:
        return to_numpy(point.vjp(weights)) + (more * (kinks.masses @ weights)) @ kinks.jumps

    def jacobian(indices: np.ndarray) -> np.ndarray:
        return to_numpy(point.gradients(indices)) + (more * kinks.masses.T[indices]) @ kinks.jumps

    return Point(point.x, point.values, vjp, jacobian=jacobian)
