"""Near-stationarity: the measure that works at kinks.

The witness is ``argmin_y { f_0(y) + rho_hat/2 |y-x|^2 : f_i(y) + rho_hat/2 |y-x|^2 <= 0, y in X }``.
A point at distance 0 from its witness is stationary; a point at distance eps is within eps of one
whose KKT residuals are of order eps (P000, Section 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise import _check
from equipoise._array import Array, all_finite, norm, to_numpy
from equipoise.certificate import bundle, smooth
from equipoise.problem import Problem
from equipoise.problems.proximal import ProximalProblem


@dataclass(frozen=True)
class NearStationarity:
    """The proximal point of `x` and how sure we are of it.

    Attributes
    ----------
    witness : ndarray of shape (d,)
        The (approximate) solution of the proximal subproblem.
    distance : float
        ``|witness - x|``.
    error : float
        A bound on the distance between the witness and the exact solution; so the exact
        near-stationarity lies in ``distance +- error``. Rests on `rho` being right.
    multipliers : ndarray of shape (m,)
        Of the regularised constraints.
    solvable : bool
        False when no feasible point of the subproblem was found: `x` is too far from feasible.
    """

    witness: np.ndarray
    distance: float
    error: float
    multipliers: np.ndarray
    solvable: bool = True

    @property
    def bound(self) -> float:
        """The near-stationarity is at most this."""
        return self.distance + self.error


def near_stationarity(
    problem: Problem,
    x: Array,
    rho_hat: float,
    *,
    rho: float | None = None,
    tol: float = 1e-7,
) -> NearStationarity:
    """Solve the proximal subproblem at `x` to high accuracy.

    Parameters
    ----------
    problem : Problem
    x : array of shape (d,)
        Any point of the domain.
    rho_hat : float
        The prox parameter; larger than the weak-convexity constant of the functions.
    rho : float, optional
        That constant; by default ``problem.facts.weak_convexity``, or ``rho_hat / 2``.
    tol : float
        The error bound aimed at.

    Returns
    -------
    NearStationarity
    """
    owner = "near_stationarity"
    rho_hat = _check.positive(owner, "rho_hat", rho_hat)
    if rho is None:
        known = problem.facts.weak_convexity
        rho = known if known is not None else rho_hat / 2
    rho = _check.non_negative(owner, "rho", rho)
    if not rho_hat > rho:
        _check.fail(owner, "rho_hat", f"must exceed the weak-convexity constant {rho:g}", rho_hat)
    tol = _check.positive(owner, "tol", tol)
    center = _check.vector(owner, "x", to_numpy(x), problem.dim)
    point = problem.at(center)
    slopes = to_numpy(point.vjp(np.ones(point.values.size)))
    if not (all_finite(point.values) and all_finite(slopes)):
        raise ValueError(f"{owner}: every value and gradient must be finite at `x`.")
    subproblem = ProximalProblem(problem, center, rho_hat)
    best: tuple[np.ndarray, np.ndarray, float] | None = None
    if problem.facts.smooth is not False:
        best = smooth.minimise(subproblem, rho_hat - rho, tol)
    if best is None or (best[2] > tol and problem.facts.smooth is not True):
        other = bundle.minimise(subproblem, rho, tol)
        if best is None or other[2] < best[2]:
            best = other
    witness, multipliers, error = best
    point = subproblem.at(witness)
    solvable = bool(math.isfinite(error) and point.violation <= 1e-3 * max(1.0, error))
    return NearStationarity(witness, norm(witness - center), error, multipliers, solvable)
