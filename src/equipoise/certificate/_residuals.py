"""The KKT residuals: the one measure that certificates and solvers share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise._array import Array, norm
from equipoise._problem import Point, Problem
from equipoise.sets import Set

# The squares of larger numbers come close to the largest number there is (1e308) where they are added up.
LARGE = 1e140


def tangent(domain: Set, x: Array, v: Array) -> Array:
    """Return the projection of `v`, however large, on the tangent cone: a cone, so it scales with `v`."""
    length = norm(v)
    if length < LARGE:
        return domain.tangent(x, v)
    if length < math.inf:
        return length * domain.tangent(x, v / length)
    return v  # infinite, or not a number


@dataclass(frozen=True)
class Residuals:
    """How far a point with multipliers is from the KKT conditions; all are 0 exactly at a KKT point.

    Attributes
    ----------
    stationarity : float
        ``dist(-grad f_0 - sum_i lam_i grad f_i, N_X(x))``, with the normal cone of the domain.
    violation : float
        ``max(0, max_i f_i(x))``; the examiner adds the distance from the domain where that is larger.
    complementarity : float
        ``sum_i |lam_i f_i(x)|``.
    """

    stationarity: float
    violation: float
    complementarity: float

    @classmethod
    def at(
        cls, problem: Problem, point: Point, multipliers: np.ndarray, gradient: Array | None = None
    ) -> Residuals:
        """Measure an evaluated point of the domain.

        Parameters
        ----------
        problem : Problem
        point : Point
        multipliers : ndarray of shape (m,)
        gradient : array of shape (d,), optional
            The gradient of the Lagrangian there, where it is known already; by default it is
            computed in one backward pass.
        """
        if gradient is None:
            gradient = point.lagrangian_gradient(multipliers)
        stationarity = norm(tangent(problem.domain, point.x, -gradient))
        # an inner product, unlike a sum of products, overflows to infinity without a warning
        complementarity = float(np.vdot(np.abs(multipliers), np.abs(point.constraints)))
        return cls(stationarity, point.violation, complementarity)

    @property
    def largest(self) -> float:
        """The largest of the three: what is meant by the residual of a point."""
        return max(self.stationarity, self.violation, self.complementarity)
