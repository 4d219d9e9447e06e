"""The search for planes that prove a point of a convex problem optimal."""

from __future__ import annotations

import math

import numpy as np

from equipoise import _check
from equipoise._array import all_finite, norm
from equipoise._problem import Problem
from equipoise.certificate._planes import NearOptimality, PlanesBelow
from equipoise.certificate._proof import SHORTEST
from equipoise.certificate._residuals import tangent

# With more variables there are more slopes around a kink than are worth looking for. Chosen.
MAX_DIM = 200

# Planes are looked for at these distances from the point, in multiples of `tol`, in turn: far ones see more
# kinks, and planes from near ones are closer to the functions at the point. Chosen.
DISTANCES = 0.9, 1e-1, 1e-2, 1e-3

# The search gives up where a number of rounds, the second, do not let the residual fall to the first number
# times what it was; chosen.
LEAST_GAIN, PATIENCE = 0.9, 12


def near_planes(problem: Problem, x: np.ndarray, tol: float, rounds: int) -> NearOptimality | None:
    """Return a proof that `x` is optimal with a residual of at most `tol`, if one is found.

    The answer is None where the facts do not say that the functions are convex. Each of at most `rounds`
    rounds evaluates the problem once, a little way downhill of the best fit so far: where the functions do
    not fall there, that shows new slopes.
    """
    _check.kind("near_planes", "problem", problem, Problem)
    x = _check.vector("near_planes", "x", x, problem.dim)
    tol = _check.positive("near_planes", "tol", tol)
    rounds = _check.count("near_planes", "rounds", rounds)
    if not (problem.facts.convex or problem.facts.weak_convexity == 0.0) or problem.dim > MAX_DIM:
        return None
    planes = PlanesBelow(problem, x)
    y, w = x, np.empty(0)
    least, stalled = math.inf, 0
    for k in range(rounds):
        w = planes.without_idle(w)
        planes.add(y, planes.largest(y), known=False)
        w = planes.fit(np.append(w, np.zeros(planes.indices.size - w.size)))
        near = planes.weighted(w)
        if near.residual <= tol:
            return near
        if near.residual <= LEAST_GAIN * least:
            least, stalled = near.residual, 0
        else:
            stalled += 1
        if stalled > PATIENCE:
            return None
        downhill = tangent(problem.domain, x, planes.downhill(w))
        if not all_finite(downhill):
            return None
        length = tol * DISTANCES[k % len(DISTANCES)] / max(norm(downhill), SHORTEST)
        y = problem.domain.project(x + length * downhill)
    return None
