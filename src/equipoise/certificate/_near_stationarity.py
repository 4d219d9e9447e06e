"""Near-stationarity: the measure that works at kinks.

The witness is ``argmin_y { f_0(y) + rho_hat/2 |y-x|^2 : f_i(y) + rho_hat/2 |y-x|^2 <= 0, y in X }``.
A point at distance 0 from its witness is stationary; a point at distance eps is within eps of one
whose KKT residuals are of order eps (Ma, Lin & Yang 2019, Section 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise import _check
from equipoise._array import Array, all_finite, dot, norm, to_numpy
from equipoise._problem import Problem
from equipoise.certificate._cutting_planes import MAX_ROUNDS, minimise_with_kinks
from equipoise.certificate._rounding import UNIT
from equipoise.certificate._smooth import minimise_smooth
from equipoise.problems import ProximalProblem

# With more variables, `near_within` does not try: 60 planes of that length take more time and
# memory than the end of a run deserves. Chosen.
MAX_DIM = 10_000

# Steps towards a feasible point of the subproblem, each twice as long as Polyak's, so that they
# end inside; chosen.
POLYAK_STEPS = 30


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
    rho_hat : float
        The prox parameter.
    solvable : bool
        Whether a feasible point of the subproblem is known, so that it has an exact solution.
        It has none where `x` is too far from feasible.
    """

    witness: np.ndarray
    distance: float
    error: float
    multipliers: np.ndarray
    rho_hat: float
    solvable: bool

    @property
    def bound(self) -> float:
        """The near-stationarity is at most this."""
        return self.distance + self.error

    @property
    def residual(self) -> float:
        """``max(1, (1 + |lam|_1) rho_hat) bound``; infinite where the subproblem is not solvable.

        At most this far from `x` there is a feasible point whose stationarity is at most this (for
        exact multipliers; these are as exact as `error` says the witness is).
        """
        return _weight(self.rho_hat, self.multipliers) * self.bound if self.solvable else math.inf

    def __str__(self) -> str:
        return (
            f"The proximal point (rho_hat = {self.rho_hat:g}) lies within {self.bound:.2g} of the "
            f"point returned, errors included; see `near`."
        )


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
    _check.kind(owner, "problem", problem, Problem)
    rho_hat = _check.positive(owner, "rho_hat", rho_hat)
    if rho is None:
        known = problem.facts.weak_convexity
        rho = known if known is not None else rho_hat / 2
    rho = _check.non_negative(owner, "rho", rho)
    if not rho_hat > rho:
        _check.fail(owner, "rho_hat", f"must exceed the weak-convexity constant {rho:g}", rho_hat)
    tol = _check.positive(owner, "tol", tol)
    center = _check.vector(owner, "x", x, problem.dim)
    point = problem.at(center)
    slopes = to_numpy(point.vjp(np.ones(point.values.size)))
    if not (all_finite(point.values) and all_finite(slopes)):
        raise ValueError(f"{owner}: every value and gradient must be finite at `x`.")
    subproblem = ProximalProblem(problem, center, rho_hat)
    best: tuple[np.ndarray, np.ndarray, float] | None = None
    if problem.facts.smooth is not False:
        best = minimise_smooth(subproblem, rho_hat - rho, tol)
    if best is None or (best[2] > tol and problem.facts.smooth is not True):
        other = minimise_with_kinks(subproblem, rho, tol)
        if best is None or other[2] < best[2]:
            best = other
    return _measured(subproblem, *best)


def near_within(
    problem: Problem, x: np.ndarray, tol: float, rounds: int
) -> NearStationarity | None:
    """Return evidence that the residual of near-stationarity at `x` is at most `tol`, if there is any.

    The prox parameter is ``max(1, 2 rho)``. The answer is None where the weak convexity rho is unknown,
    where `x` has more than `MAX_DIM` coordinates, or where `rounds` rounds of cutting planes prove
    nothing.
    """
    _check.kind("near_within", "problem", problem, Problem)
    x = _check.vector("near_within", "x", x, problem.dim)
    tol = _check.positive("near_within", "tol", tol)
    rounds = _check.count("near_within", "rounds", rounds)
    rho = 0.0 if problem.facts.convex else problem.facts.weak_convexity
    if rho is None or problem.dim > MAX_DIM:
        return None
    rho_hat = max(1.0, 2 * rho)
    subproblem = ProximalProblem(problem, x, rho_hat)
    rounds = min(rounds, MAX_ROUNDS)
    goal = lambda lam: tol / _weight(rho_hat, lam)  # noqa: E731
    found = minimise_with_kinks(subproblem, rho, 1e-3 * tol, rounds=rounds, goal=goal)
    near = _measured(subproblem, *found)
    return near if near.residual <= tol else None


def _weight(rho_hat: float, multipliers: np.ndarray) -> float:
    return max(1.0, (1 + float(multipliers.sum())) * rho_hat)


def _measured(
    subproblem: ProximalProblem, witness: np.ndarray, multipliers: np.ndarray, error: float
) -> NearStationarity:
    distance = norm(witness - subproblem.center)
    error += UNIT * (norm(witness) + norm(subproblem.center))  # that of the distance
    solvable = math.isfinite(error) and _is_solvable(subproblem, witness)
    return NearStationarity(witness, distance, error, multipliers, subproblem.rho_hat, solvable)


def _is_solvable(subproblem: ProximalProblem, witness: np.ndarray) -> bool:
    """Whether the centre is feasible for the subproblem, or a point a few Polyak steps from the witness."""
    y = subproblem.center
    if subproblem.domain.contains(y) and subproblem.at(y).violation == 0.0:
        return True
    y = witness
    for _ in range(POLYAK_STEPS):
        point = subproblem.at(y)
        if point.violation == 0.0:
            return True
        g = to_numpy(point.gradient(point.worst))
        square = dot(g, g)
        if not 0.0 < square < math.inf:
            return False
        y = y - 2 * (point.excess / square) * g
        if not all_finite(y):
            return False
        y = subproblem.domain.project(y)
    return False
