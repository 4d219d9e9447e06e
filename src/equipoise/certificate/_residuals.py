"""The KKT residuals: the one measure that certificates and solvers share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise._array import Array
from equipoise._problem import Point, Problem


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
        return cls(
            problem.domain.normal_distance(point.x, -gradient),
            point.violation,
            float(np.abs(multipliers * point.constraints).sum()),
        )

    @property
    def largest(self) -> float:
        """The largest of the three: what is meant by the residual of a point."""
        return max(self.stationarity, self.violation, self.complementarity)
