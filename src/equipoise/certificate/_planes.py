"""Optimality of convex problems by planes: subgradients from around a point, fitted as multipliers are.

A plane that touches a convex function at y lies below it everywhere. At x it lies lower by some ``e``, and
then its slope is an e-subgradient there (Lemarechal 1975; Wolfe 1975). So neither kinks, at which a point
shows one subgradient of many, nor a feasible set without interior are in the way of a proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise import _check
from equipoise._array import norm, to_numpy
from equipoise._problem import Problem
from equipoise.certificate._bounded import bounded_least_squares
from equipoise.certificate._examiner import ACTIVE_WITHIN
from equipoise.certificate._multipliers import finite_rows
from equipoise.certificate._pieces import least_by_pieces
from equipoise.certificate._proof import UNITS
from equipoise.certificate._residuals import tangent
from equipoise.certificate._rounding import HUGE, UNIT

# Constraints looked at in each round, the largest first: one gradient each. Chosen.
MAX_CONSTRAINTS = 200

# Planes without weight are dropped where there are more planes than the first number for each variable, and
# more than the second in all. Chosen.
PLANES_PER_VARIABLE, LEAST_PLANES = 3, 40

# Fits with another piece of the projection on the tangent cone at the most, and the share of the loss that is
# not worth another one; chosen.
PIECES, NOTHING = 20, 1e-9


@dataclass(frozen=True, eq=False)
class NearOptimality:
    """Planes below the functions of a convex problem whose weighted sum hardly falls from a point on.

    For every feasible z of the domain, ``f_0(z) >= f_0(x) - complementarity - stationarity |z - x|``: with
    both at 0, `x` is a solution.

    Attributes
    ----------
    x : ndarray of shape (d,)
        The point examined.
    indices : ndarray of shape (k,)
        The function (0 the objective, 1..m the constraints) of each plane.
    points : ndarray of shape (k, d)
        Where each plane touches its function.
    weights : ndarray of shape (k,)
        Non-negative; those of the objective's planes have the sum 1, the others are multipliers.
    multipliers : ndarray of shape (m,)
        For each constraint, the sum of the weights of its planes.
    stationarity : float
        The distance of minus the weighted sum of slopes from the normal cone of the domain at `x`.
    complementarity : float
        The weighted sum of how far the planes are below their functions at `x`, and of how far the
        constraints are from 0 there. Rounding errors are in both numbers.
    distance : float
        From `x` to the farthest of the points.
    """

    x: np.ndarray
    indices: np.ndarray
    points: np.ndarray
    weights: np.ndarray
    multipliers: np.ndarray
    stationarity: float = math.inf
    complementarity: float = math.inf
    distance: float = math.inf

    @property
    def residual(self) -> float:
        """The largest of stationarity, complementarity and distance."""
        return max(self.stationarity, self.complementarity, self.distance)

    def measured(self, problem: Problem) -> NearOptimality:
        """Return the same with its three numbers computed from the problem's values and gradients.

        They are infinite where the weights are not what they have to be, or a plane lies above its function.
        """
        _check.kind("NearOptimality.measured", "problem", problem, Problem)
        planes = PlanesBelow(problem, self.x)
        for i, y in zip(self.indices, self.points):
            planes.add(y, np.array([i]))
        return planes.weighted(self.weights)

    def __str__(self) -> str:
        return (
            "Planes below the functions prove that the objective is at most "
            f"{self.complementarity:.2g} above that of any feasible point, and "
            f"{self.stationarity:.2g} for each unit of distance; see `near`."
        )


class PlanesBelow:
    """Planes below the functions, by their slopes and by how far below a function they are at `x`."""

    def __init__(self, problem: Problem, x: np.ndarray) -> None:
        self.problem, self.x, self.values = problem, x, problem.at(x).values
        self.unit = UNITS * max(UNIT, problem.facts.rounding)
        self.indices, self.points = np.empty(0, dtype=int), np.empty((0, x.size))
        self.slopes, self.below = np.empty((0, x.size)), np.empty(0)
        self.errors = np.empty(0)  # the rounding errors of `below`

    def largest(self, y: np.ndarray) -> np.ndarray:
        """Return the objective and the largest constraints at `y`."""
        values = self.problem.at(y).constraints
        largest = np.argsort(-values, kind="stable")[:MAX_CONSTRAINTS]
        return np.append(0, 1 + largest[values[largest] >= -ACTIVE_WITHIN])

    def add(self, y: np.ndarray, functions: np.ndarray, known: bool = True) -> None:
        """Add the planes of these functions at `y`; if asked to, without those that are known already."""
        point, x = self.problem.at(y), self.x
        rows = finite_rows(self.problem, functions, to_numpy(point.gradients(functions)))
        values, here = point.values[functions], self.values[functions]
        size = np.abs(values) + np.abs(here) + np.linalg.norm(rows, axis=1) * (norm(x) + norm(y))
        below, errors = here - values - rows @ (x - y), self.unit * size
        new = np.ones(functions.size, dtype=bool)
        if not known:
            found = zip(functions, rows, below)
            new = np.array([not self._known(int(i), row, e) for i, row, e in found])
        self.indices = np.append(self.indices, functions[new])
        self.points = np.vstack((self.points, np.repeat(y[None], new.sum(), axis=0)))
        self.slopes = np.vstack((self.slopes, rows[new]))
        self.below = np.append(self.below, below[new])
        self.errors = np.append(self.errors, errors[new])

    def _known(self, i: int, slope: np.ndarray, below: float) -> bool:
        """Whether a plane of function `i` with this slope is there that is as near to it at `x`."""
        same = (self.indices == i) & (self.slopes == slope).all(axis=1)
        return bool((self.below[same] <= below + self.errors[same]).any())

    def without_idle(self, w: np.ndarray) -> np.ndarray:
        """Drop the planes without weight where there are many; return the weights that are left."""
        if w.size <= max(LEAST_PLANES, PLANES_PER_VARIABLE * self.x.size):
            return w
        kept = w > 0.0
        for name in ("indices", "points", "slopes", "below", "errors"):
            setattr(self, name, getattr(self, name)[kept])
        return w[kept]

    @property
    def huge(self) -> bool:
        """Whether numbers are so large that gradients may be nothing but rounding errors."""
        return max(norm(self.x), float(np.abs(self.values).max())) >= HUGE

    @property
    def prices(self) -> np.ndarray:
        """What the weight of each plane adds to the complementarity."""
        room = np.where(self.indices > 0, np.abs(self.values[self.indices]), 0.0)
        return np.abs(self.below) + self.errors + room

    def downhill(self, w: np.ndarray) -> np.ndarray:
        """Return minus the weighted sum of slopes."""
        return -(w @ self.slopes)

    def loss(self, w: np.ndarray) -> float:
        """Return what is minimised."""
        rest = tangent(self.problem.domain, self.x, self.downhill(w))
        return math.hypot(norm(rest), float(w @ self.prices))

    def fit(self, w: np.ndarray) -> np.ndarray:
        """Return the weights with the least stationarity and complementarity, from the weights `w` on.

        The squared distance to the normal cone is a convex function whose gradient is linear on pieces: each
        step minimises it on one piece, and goes as far towards that as it falls.
        """
        if not w.any():
            w = np.zeros(self.indices.size)
            w[0] = 1.0
        return least_by_pieces(self.loss, self._fit_piece, w, PIECES, NOTHING)

    def _fit_piece(self, w: np.ndarray) -> np.ndarray:
        """Minimise with the piece at `w` held fixed.

        The objective's weights are to have the sum 1. With that as one more equation of least squares the
        minimiser is some multiple of the one sought, whatever it weighs (Wolfe 1976).
        """
        objective = self.indices == 0
        scale = float(np.linalg.norm(self.slopes[objective], axis=1).max()) or 1.0
        piece = self.problem.domain.tangent_map(self.x, self.downhill(w))
        matrix = np.vstack((piece(self.slopes).T, self.prices, scale * objective))
        target = np.append(np.zeros(self.x.size + 1), scale)
        ahead = bounded_least_squares(matrix, target, np.full(w.size, np.inf))
        total = float(ahead[objective].sum())
        return ahead / total if total > 0.0 else w

    def weighted(self, w: np.ndarray) -> NearOptimality:
        """Return what weights of the planes prove; nothing where they are not what they have to be."""
        w = np.maximum(w, 0.0) if (w >= -self.unit).all() else np.full(w.size, np.nan)
        kept = ~(w == 0.0)
        w, indices, points = w[kept], self.indices[kept], self.points[kept]
        multipliers = np.bincount(indices, w, self.values.size)[1:]
        fair = abs(float(w[indices == 0].sum()) - 1.0) <= self.unit * w.size
        above = self.below[kept] < -self.errors[kept]  # of a function that is not convex
        if self.huge or not fair or above.any():
            return NearOptimality(self.x, indices, points, w, multipliers)
        lengths = np.linalg.norm(self.slopes[kept], axis=1)
        rest = norm(tangent(self.problem.domain, self.x, -(w @ self.slopes[kept])))
        return NearOptimality(
            self.x,
            indices,
            points,
            w,
            multipliers,
            stationarity=rest + self.unit * float(w @ lengths),
            complementarity=float(w @ self.prices[kept]),
            distance=float(np.linalg.norm(points - self.x, axis=1).max()),
        )
