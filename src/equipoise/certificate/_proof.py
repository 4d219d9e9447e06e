"""Proofs that no point of the domain meets all constraints, for a reader to check."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from equipoise import _check
from equipoise._array import norm, to_numpy
from equipoise._problem import Problem
from equipoise.certificate._rounding import UNIT
from equipoise.sets import Set

# A value, a gradient or a projection is trusted to this many units of rounding, relative to the
# numbers it was computed from; chosen.
UNITS = 8.0

# A linear function is bounded from below by projections with steps of these lengths, in multiples of
# the longest sensible one; each gives a valid bound, and the best counts. Chosen.
STEP_LENGTHS = 10.0 ** np.arange(0, 9, 2)

# The domain may be a point: lengths are taken as this at the least, so that they can be divided by.
SHORTEST = 1e-100


@dataclass(frozen=True, eq=False)
class InfeasibilityProof:
    """Weights of constraints whose weighted sum is positive everywhere in the domain.

    At the point ``y_j`` the constraint ``f_i``, with i the j-th of `indices`, lies above its tangent plane.
    So the weighted sum of the constraints lies above the weighted sum of the planes, an affine
    function, and that is bounded from below over the domain by one projection. A feasible point would make
    the weighted sum at most 0.

    Attributes
    ----------
    indices : ndarray of shape (k,)
        The constraint (1..m) of each plane.
    points : ndarray of shape (k, d)
        Where each plane touches its constraint.
    weights : ndarray of shape (k,)
        Non-negative, with sum 1.
    center : ndarray of shape (d,)
        A point of the domain, from which the projection is taken.
    radius : float
        The proof holds for all points of the domain within this distance of `center`: all of a bounded
        domain; of an unbounded one all up to where rounding errors of the gradients
        outgrow the bound, farther than numbers of this precision can tell anything.
    bound : float
        The weighted sum is at least this, rounding errors counted; positive.
    """

    indices: np.ndarray
    points: np.ndarray
    weights: np.ndarray
    center: np.ndarray
    radius: float = math.nan
    bound: float = -math.inf

    def measured(self, problem: Problem) -> InfeasibilityProof:
        """Return the same with `bound` and `radius` computed from the problem's values and gradients."""
        points = [problem.at(y) for y in self.points]
        values = np.array([point.values[i] for i, point in zip(self.indices, points)])
        rows = [to_numpy(point.gradient(int(i))) for i, point in zip(self.indices, points)]
        bound, radius = lower_bound(problem, self, values, np.array(rows))
        return replace(self, bound=bound, radius=radius)

    def check(self, problem: Problem) -> bool:
        """Whether the proof holds: evaluates the problem at `points`, and trusts nothing else.

        It rests on the problem's facts: that the constraints are convex, or their weak convexity.
        """
        _check.kind("InfeasibilityProof.check", "problem", problem, Problem)
        fair = bool((self.weights >= 0).all()) and abs(float(self.weights.sum()) - 1) <= 1e-9
        inside = problem.domain.contains(self.center, atol=1e-12)
        return fair and inside and bool(self.measured(problem).bound > 0)

    def shares(self, problem: Problem) -> dict[str, float]:
        """Return the constraints in the way and their weights."""
        total = np.bincount(self.indices - 1, self.weights, problem.n_constraints)
        order = np.argsort(-total, kind="stable")
        return {problem.names[i]: float(total[i]) for i in order if total[i] > 1e-6}

    def __str__(self) -> str:
        return (
            f"A weighted sum of the constraints is at least {self.bound:.3g} at every point of the domain "
            f"within {self.radius:.3g} of `proof.center`."
        )


def lower_bound(
    problem: Problem, proof: InfeasibilityProof, values: np.ndarray, rows: np.ndarray
) -> tuple[float, float]:
    """Bound the weighted sum over the domain, given the values and gradients at the points.

    Returns
    -------
    bound, radius : float
        What is subtracted for rounding errors is in the bound. It is minus infinity where the facts
        do not say how far below its tangent planes a constraint can be.
    """
    facts, w, c = problem.facts, proof.weights, proof.center
    rho = 0.0 if facts.convex_constraints else facts.weak_convexity
    if rho is None:
        return -math.inf, 0.0
    unit = UNITS * max(UNIT, facts.rounding)
    away = c - proof.points
    lengths = np.linalg.norm(rows, axis=1)
    height = float(w @ (values + (rows * away).sum(axis=1)))
    scale = w @ (np.abs(values) + lengths * (norm(c) + np.linalg.norm(proof.points, axis=1)))
    height -= unit * float(scale)
    size, slope = float(w @ lengths), w @ rows
    radius = problem.domain.diameter
    if not math.isfinite(radius):
        if rho > 0 or height <= 0:
            return -math.inf, 0.0
        radius = math.inf if size == 0 else height / (4 * unit * size)
    sagging = 0.5 * rho * radius**2 if rho > 0 else 0.0
    if size == 0:
        return height - sagging, radius
    blurred = unit * size * radius  # what the rounding errors of the gradients amount to
    fall = _fall(problem.domain, c, slope, radius, unit)
    return float(height - sagging - blurred - fall), float(radius)


def _fall(domain: Set, c: np.ndarray, slope: np.ndarray, radius: float, unit: float) -> float:
    """Bound how far ``<slope, y - c>`` falls below 0 over the domain within `radius` of c.

    Let p be the projection of ``c - slope/s``. Then ``n = -slope - s (p - c)`` is normal to the domain at p,
    so that ``<slope, y - c> >= -<n, p - c> - s |p - c| |y - c|`` for all y of the domain, whatever s > 0.
    """
    length = norm(slope)
    if length == 0.0:
        return 0.0
    longest = length / max(SHORTEST, min(radius, max(1.0, norm(c))))
    least = length * radius
    for s in longest / STEP_LENGTHS:
        p = domain.project(c - slope / s)
        step = p - c
        n = -slope - s * step
        inexact = unit * norm(n) * (norm(c) + length / s)
        least = min(least, float(n @ step) + s * norm(step) * radius + inexact)
    return max(0.0, least)
